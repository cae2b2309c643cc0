//! The cost of a concentrator's control sessions: clients with two paths each, all active, so that every path is probed ten times a second from both
//! ends. The figure is the processor time per second, next to the number of frames received.

#[path = "../tests/sessions/frames.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests use the rest")]
mod frames;
#[path = "../tests/sessions/hub.rs"]
#[allow(dead_code, unreachable_pub, reason = "tests use the rest")]
mod hub;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hub::*;

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn clock() -> Instant {
    Instant::now()
}

fn second(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sessions/second");
    group.sample_size(10);
    for clients in [10, 100, 1_000] {
        let mut hub = Hub::new(clients);
        hub.allow((1..=clients).map(|client| key(client).public()));
        hub.establish();
        while !hub.is_up(HUB) {
            hub.run(Duration::from_millis(10));
            hub.ask();
            hub.grant();
        }
        let step = |hub: &mut Hub| {
            for _ in 0..20 {
                (0..=clients).for_each(|node| hub.wake(node));
                hub.run(Duration::from_millis(50));
            }
        };
        step(&mut hub);
        let before = hub.nodes[HUB].node.sessions().counters().frames_received;
        step(&mut hub);
        let frames = hub.nodes[HUB].node.sessions().counters().frames_received - before;
        eprintln!("{clients} clients: {frames} frames received in a second");
        hub.clock = Some(clock);
        group.bench_function(BenchmarkId::from_parameter(clients), |bencher| {
            bencher.iter_custom(|iterations| {
                hub.spent = Duration::ZERO;
                (0..iterations).for_each(|_| step(&mut hub));
                hub.spent
            });
        });
    }
    group.finish();
}

criterion_group!(benches, second);
criterion_main!(benches);
