//! The cost of the fair queue per segment.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mpt_core::queue::{FairQueue, Limits, Waiting};

/// One packet comes in and as much leaves, at a queue that holds 4 MB.
fn full(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue");
    for (name, flows, segments, over) in [
        ("one flow of super-packets", 1, 44, false),
        ("one flow of single packets", 1, 1, false),
        ("1000 flows of single packets", 1000, 1, false),
        ("one flow of super-packets, all dropped at the bound", 1, 44, true),
        ("1000 flows of single packets, all dropped at the bound", 1000, 1, true),
    ] {
        #[expect(clippy::disallowed_methods, reason = "the caller has the clock")]
        let mut now = Instant::now();
        let total = 1400 * u32::from(segments);
        let mut queue = FairQueue::new(Limits { bytes: 4_000_000, packets: 10_000 });
        queue.set_target(Duration::from_millis(40), Duration::from_millis(50));
        let mut flow = 0_u64;
        let mut push = |queue: &mut FairQueue<u32>, now| {
            flow = (flow + 1) % flows;
            let packet = Waiting {
                flow,
                segments,
                largest: 1400,
                total,
                first: 0,
                ect: true,
                spreads: true,
                acknowledges: None,
                tag: 0,
            };
            let _ = black_box(queue.push(now, packet));
            while let Some(dropped) = queue.pop_dropped() {
                black_box(dropped);
            }
        };
        while queue.counters().overflowed == 0 {
            push(&mut queue, now);
        }
        group.throughput(Throughput::Elements(segments.into()));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                now += Duration::from_micros(u64::from(segments));
                for _ in 0..if over { 0 } else { segments } {
                    black_box(queue.peek(now));
                    black_box(queue.pop(now));
                }
                push(&mut queue, now);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, full);
criterion_main!(benches);
