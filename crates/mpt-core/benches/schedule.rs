//! The cost of the choice of a path, per packet.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpt_core::scheduler::{Choice, Mapping, Member, Scheduler};

const WEIGHTS: [(&str, &[u16]); 7] = [
    ("1", &[1]),
    ("1:1", &[1, 1]),
    ("94:121", &[94, 121]),
    ("10000:1", &[10_000, 1]),
    ("12:15:10:7", &[12, 15, 10, 7]),
    ("8 paths", &[3, 5, 7, 11, 13, 17, 19, 23]),
    ("12 paths", &[100, 90, 80, 70, 60, 50, 45, 35, 25, 15, 10, 5]),
];

fn scheduler(mapping: Mapping, weights: &[u16]) -> Scheduler {
    let mut scheduler = Scheduler::new(mapping);
    for (slot, &weight) in weights.iter().enumerate() {
        let identity = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(slot as u64 + 1);
        scheduler.set(slot, Some(Member { weight, tier: 0, up: true, identity }));
    }
    scheduler
}

/// Packets of this many flows in turn. Packet mapping does not look at flows.
fn choose(criterion: &mut Criterion, name: &str, mapping: Mapping, flows: u64) {
    let mut group = criterion.benchmark_group(format!("schedule/{name}"));
    group.throughput(Throughput::Elements(1));
    for (name, weights) in WEIGHTS {
        let mut scheduler = scheduler(mapping, weights);
        let mut packet = 0_u64;
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                packet += 1;
                let flow = (packet % flows).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                match scheduler.next(black_box(flow)) {
                    Choice::One(slot) => slot,
                    Choice::None | Choice::Each(_) => usize::MAX,
                }
            });
        });
    }
    group.finish();
}

fn all(criterion: &mut Criterion) {
    choose(criterion, "packet", Mapping::Packet, 1);
    choose(criterion, "flow, of 16", Mapping::Flow, 16);
    choose(criterion, "flow, always new", Mapping::Flow, 1 << 40);
}

criterion_group! {
    name = benches;
    config = Criterion::default();
    targets = all
}
criterion_main!(benches);
