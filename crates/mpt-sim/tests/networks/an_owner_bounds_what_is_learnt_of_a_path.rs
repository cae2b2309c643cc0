//! A path is given no more data than its `max_rate`, whatever its line carries, and the others carry what they do. (`min_rate` is tested
//! where the model of a path is, in mpt-core.)

use std::time::Duration;

use mpt_core::RateBounds;
use mpt_sim::tunnel::{FlowPlan, Path, Record, Scene, TunnelPlan, Via};

const SEED: u64 = 1;

/// A flow of 12 s over two paths of 50 Mbit/s, of which the first one has these bounds.
fn run(rates: RateBounds) -> Record {
    let tunnel = TunnelPlan { rates: vec![rates], ..TunnelPlan::adaptive(2) };
    let scene = Scene {
        links: vec![Path::new(50, Duration::from_millis(20)); 2],
        tunnels: vec![tunnel],
        flows: vec![FlowPlan::linux(Via::Tunnel(0))],
        echoes: Vec::new(),
        streams: Vec::new(),
        changes: Vec::new(),
        warm_up: Duration::from_secs(3),
        duration: Duration::from_secs(12),
        seed: SEED,
    };
    scene.run()
}

/// Returns the rate given to a link in each second from `from` to `to`, in Mbit/s.
fn given(record: &Record, link: usize, from: usize, to: usize) -> Vec<f64> {
    let bytes = |second: usize| record.samples[50 * second].links[link].counters.offered.bytes;
    (from..to).map(|second| (bytes(second + 1) - bytes(second)) as f64 * 8.0 / 1e6).collect()
}

#[test]
fn a_path_is_given_no_more_than_its_greatest_rate() {
    let bounds = RateBounds::new(None, Some(20_000_000)).expect("a good bound");
    let (free, bounded) = (run(RateBounds::NONE), run(bounds));
    // The path that answers soonest carries the frames about all data beside it: one per cent of that at the most.
    for (first, second) in given(&bounded, 0, 0, 12).into_iter().zip(given(&bounded, 1, 0, 12)) {
        let most = 20.0 + 0.01 * (first + second);
        assert!(first <= most, "{first} Mbit/s beside {second}, seed {SEED}");
    }
    let without = given(&free, 0, 3, 10);
    assert!(without.iter().all(|&rate| rate > 40.0), "{without:?} Mbit/s, seed {SEED}");
    // A packet of 1,514 bytes on the link has 1,412 of payload.
    let reached = bounded.goodput(0, 3.0, 10.0);
    assert!(reached >= 0.95 * 0.932 * 70.0, "{reached} Mbit/s, seed {SEED}");
}
