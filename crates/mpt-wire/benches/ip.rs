//! The cost of classification per packet: the summary, the flow hash, the MSS clamp.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mpt_wire::ip::{Summary, protocol};
use mpt_wire::tcp::mss::{self, ChecksumState};
use mpt_wire::tcp::{self, Flags};
use mpt_wire::{ipv4, ipv6};

fn segment(flags: Flags) -> Vec<u8> {
    let repr = tcp::Repr {
        source_port: 49_152,
        destination_port: 443,
        sequence: 1,
        acknowledgment: 2,
        flags,
        window: 512,
        urgent: 0,
        options: &[2, 4, 0x05, 0x00, 1, 3, 3, 7, 4, 2, 0, 0],
    };
    let mut bytes = vec![0; repr.header_len() + 1_360];
    repr.emit(&mut bytes);
    bytes
}

fn v4(payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; ipv4::HEADER_LEN];
    ipv4::Repr {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        protocol: protocol::TCP,
        tos: 2,
        identification: 1,
        dont_fragment: true,
        ttl: 64,
        payload_len: payload.len() as u16,
    }
    .emit(&mut packet);
    packet.extend(payload);
    packet
}

fn v6(extension: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; ipv6::HEADER_LEN];
    ipv6::Repr {
        source: [0xfd00, 0, 0, 0, 0, 0, 0, 1].into(),
        destination: [0xfd00, 0, 0, 0, 0, 0, 0, 2].into(),
        next_header: if extension.is_empty() { protocol::TCP } else { protocol::HOP_BY_HOP },
        traffic_class: 2,
        flow_label: 0x12345,
        hop_limit: 64,
        payload_len: (extension.len() + payload.len()) as u16,
    }
    .emit(&mut packet);
    packet.extend(extension);
    packet.extend(payload);
    packet
}

fn packets(flags: Flags) -> [(&'static str, Vec<u8>); 3] {
    let segment = segment(flags);
    [
        ("IPv4", v4(&segment)),
        ("IPv6", v6(&[], &segment)),
        ("IPv6 with an extension header", v6(&[protocol::TCP, 0, 1, 4, 0, 0, 0, 0], &segment)),
    ]
}

fn summary(c: &mut Criterion) {
    let mut group = c.benchmark_group("ip/summary");
    for (name, packet) in packets(Flags::ACK) {
        assert!(Summary::parse(&packet).unwrap().ports.is_some());
        group.bench_function(name, |b| b.iter(|| Summary::parse(black_box(&packet))));
    }
}

fn flow_hash(c: &mut Criterion) {
    let mut group = c.benchmark_group("ip/flow_hash");
    for (name, packet) in packets(Flags::ACK).into_iter().take(2) {
        let summary = Summary::parse(&packet).unwrap();
        group.bench_function(name, |b| b.iter(|| black_box(&summary).flow_hash(black_box(7))));
    }
}

fn clamp(c: &mut Criterion) {
    let mut group = c.benchmark_group("mss/clamp");
    for (name, flags) in [("data", Flags::ACK), ("SYN that fits", Flags::SYN)] {
        let mut packet = v4(&segment(flags));
        let summary = Summary::parse(&packet).unwrap();
        group.bench_function(name, |b| {
            b.iter(|| {
                let packet = black_box(&mut packet);
                mss::clamp(packet, black_box(&summary), 1_464, ChecksumState::Complete)
            });
        });
    }
}

criterion_group!(benches, summary, flow_hash, clamp);
criterion_main!(benches);
