//! GRE headers written and read.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mpt_wire::checksum::Sum;
use mpt_wire::gre::{MAX_HEADER_LEN, Protocol, Repr};

const PAYLOAD_LEN: usize = 1_400;

const PLAIN: Repr = Repr { protocol: Protocol::IPV4, checksum: false, key: None, sequence: None };
const REPRS: [(&str, Repr); 4] = [
    ("plain", PLAIN),
    ("sequence", Repr { sequence: Some(1), ..PLAIN }),
    ("key and sequence", Repr { key: Some(7), sequence: Some(1), ..PLAIN }),
    ("checksum of 1400 bytes", Repr { checksum: true, key: Some(7), sequence: Some(1), ..PLAIN }),
];

fn emit(c: &mut Criterion) {
    let mut group = c.benchmark_group("gre/emit");
    let payload = vec![0x45; PAYLOAD_LEN];
    for (name, repr) in REPRS {
        group.bench_function(name, |b| {
            let mut buffer = [0; MAX_HEADER_LEN];
            b.iter(|| {
                let repr = black_box(repr);
                let header = &mut buffer[..repr.header_len()];
                repr.emit(header);
                if repr.checksum {
                    let mut sum = Sum::new();
                    sum.add_bytes(black_box(&payload));
                    Repr::fill_checksum(header, sum);
                }
                black_box(&buffer);
            });
        });
    }
}

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("gre/parse");
    for (name, repr) in REPRS {
        let mut datagram = vec![0x45; repr.header_len() + PAYLOAD_LEN];
        repr.emit(&mut datagram);
        let (header, payload) = datagram.split_at_mut(repr.header_len());
        let mut sum = Sum::new();
        sum.add_bytes(payload);
        Repr::fill_checksum(header, sum);
        assert_eq!(Repr::parse(&datagram), Ok((repr, repr.header_len())));
        group.bench_function(name, |b| b.iter(|| Repr::parse(black_box(&datagram))));
    }
}

criterion_group!(benches, emit, parse);
criterion_main!(benches);
