//! The Internet checksum at the sizes of the data path: headers, one segment, a super-packet.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpt_wire::checksum::{Sum, update16};

fn add_bytes(c: &mut Criterion) {
    let mut group = c.benchmark_group("checksum");
    for len in [8, 20, 40, 60, 1_400, 1_448, 65_535] {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 31) as u8).collect();
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_with_input(BenchmarkId::new("add_bytes", len), &bytes, |b, bytes| {
            b.iter(|| {
                let mut sum = Sum::new();
                sum.add_bytes(black_box(bytes));
                sum.finish()
            });
        });
    }
    group.finish();
}

fn scattered(c: &mut Criterion) {
    // A super-packet's segment: its headers and its payload, which starts at an odd address.
    let bytes = vec![0x5a; 1_500];
    let mut group = c.benchmark_group("checksum");
    group.throughput(Throughput::Bytes(1_499));
    group.bench_function("header and odd payload", |b| {
        b.iter(|| {
            let bytes = black_box(&bytes);
            let mut sum = Sum::new();
            sum.add_bytes(&bytes[..51]);
            sum.add_bytes(&bytes[51..1_499]);
            sum.finish()
        });
    });
    group.finish();
    c.bench_function("checksum/update16", |b| {
        b.iter(|| update16(black_box(0xdd2f), black_box(0x5555), black_box(0x3285)));
    });
}

criterion_group!(benches, add_bytes, scattered);
criterion_main!(benches);
