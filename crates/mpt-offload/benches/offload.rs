//! The cost of cutting and joining: one criterion throughput unit is one byte of inner packet.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mpt_offload::{Coalescer, Mergeable, Piece, Segmenter, Sink, VnetHeader, vnet};

/// Inner MTU 1464, timestamps: what a TCP flow through the tunnel over an ordinary link looks like.
const HEADER_LEN: usize = 52;
const SEGMENT_LEN: usize = 1412;
const SEGMENTS: usize = 45;

/// A TSO super-packet as the kernel hands it over.
fn super_packet() -> (VnetHeader, Vec<u8>) {
    let len = HEADER_LEN + SEGMENTS * SEGMENT_LEN;
    let builder = etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(40_000, 5201, 7, 65_000)
        .ack(9)
        .options(&[
            etherparse::TcpOptionElement::Noop,
            etherparse::TcpOptionElement::Noop,
            etherparse::TcpOptionElement::Timestamp(1, 2),
        ]);
    let payload: Vec<u8> = (0..SEGMENTS * SEGMENT_LEN).map(|i| ((i * 31) >> 3) as u8).collect();
    let mut packet = Vec::with_capacity(len);
    builder.unwrap().write(&mut packet, &payload).unwrap();
    // The pseudo-header's sum: addresses, protocol, length.
    let sum = 2 * 0x0a00u32 + 1 + 2 + 6 + (len - 20) as u32;
    packet[36..38].copy_from_slice(&((sum + (sum >> 16)) as u16).to_be_bytes());
    let header = VnetHeader {
        flags: vnet::NEEDS_CSUM,
        gso_type: vnet::GSO_TCPV4,
        hdr_len: HEADER_LEN as u16,
        gso_size: SEGMENT_LEN as u16,
        csum_start: 20,
        csum_offset: 16,
    };
    (header, packet)
}

/// Counts what it gets.
struct Count(usize);

impl Sink<usize> for Count {
    fn write(&mut self, vnet: &VnetHeader, header: &[u8], pieces: &[Piece<usize>]) {
        self.0 += black_box((vnet, header, pieces)).2.len();
    }
}

fn offload(criterion: &mut Criterion) {
    let (vnet, mut packet) = super_packet();
    let segmenter = Segmenter::new(&vnet, &mut packet, 20).unwrap();
    assert_eq!(usize::from(segmenter.count()), SEGMENTS);
    let segments: Vec<Vec<u8>> = (0..segmenter.count())
        .map(|index| {
            let mut segment = vec![0; HEADER_LEN];
            let payload = segmenter.segment(&packet, index, &mut segment);
            segment.extend(&packet[payload]);
            segment
        })
        .collect();
    let bytes = segments.iter().map(Vec::len).sum::<usize>() as u64;

    let mut group = criterion.benchmark_group("offload");
    group.throughput(Throughput::Bytes(bytes));
    group.bench_function("segment_tcp_45x1464", |bencher| {
        let mut headers = vec![0u8; SEGMENTS * HEADER_LEN];
        bencher.iter(|| {
            let segmenter = Segmenter::new(black_box(&vnet), black_box(&mut packet), 20).unwrap();
            for (index, header) in headers.chunks_exact_mut(HEADER_LEN).enumerate() {
                black_box(segmenter.segment(&packet, index as u16, header));
            }
        });
    });
    group.bench_function("coalesce_tcp_45x1464", |bencher| {
        let mut coalescer = Coalescer::new(Mergeable { tcp: true, udp: true });
        let mut sink = Count(0);
        bencher.iter(|| {
            for (index, segment) in segments.iter().enumerate() {
                coalescer.push(black_box(segment), index, false, &mut sink);
            }
            coalescer.flush(&mut sink);
        });
        assert_eq!(coalescer.counters().alone, 0);
        assert_eq!(sink.0 % SEGMENTS, 0);
    });
    group.finish();

    let mut group = criterion.benchmark_group("offload");
    let mut ack = Vec::new();
    etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(40_000, 5201, 7, 65_000)
        .ack(9)
        .write(&mut ack, &[])
        .unwrap();
    group.throughput(Throughput::Elements(1));
    group.bench_function("pass_pure_ack", |bencher| {
        let mut coalescer = Coalescer::new(Mergeable { tcp: true, udp: true });
        let mut sink = Count(0);
        bencher.iter(|| coalescer.push(black_box(&ack), 0, false, &mut sink));
    });
    group.finish();
}

criterion_group!(benches, offload);
criterion_main!(benches);
