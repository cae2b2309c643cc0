//! The paths with which a flow begins are chosen beside a call, too: on the line of an office there is hardly a moment without other packets.

use std::time::Duration;

use mpt_sim::tunnel::{FlowPlan, Path, Scene, StreamPlan, TunnelPlan, Via};

const SEED: u64 = 1;
/// A call without pictures, and one with: bytes of a packet, and the time between two of them.
const CALLS: [(u64, Duration); 2] =
    [(200, Duration::from_millis(20)), (1_100, Duration::from_millis(7))];

/// Returns the rate in Mbit/s of a flow of 8 s over 200 Mbit/s and 10 ms beside 5 Mbit/s and 200 ms. The first path alone brings more for
/// minutes. The call begins while the second path is measured.
fn rate(call: Option<(u64, Duration)>) -> f64 {
    let (quick, slow) = (Duration::from_millis(10), Duration::from_millis(200));
    let stream =
        |(size, interval)| StreamPlan { via: Via::Tunnel(0), size, interval, protected: false };
    let scene = Scene {
        links: vec![Path::new(200, quick), Path::new(5, slow)],
        tunnels: vec![TunnelPlan::adaptive(2)],
        flows: vec![FlowPlan::linux(Via::Tunnel(0))],
        echoes: Vec::new(),
        streams: call.map(stream).into_iter().collect(),
        changes: Vec::new(),
        warm_up: Duration::from_secs(3),
        duration: Duration::from_secs(8),
        seed: SEED,
    };
    scene.run().goodput(0, 0.0, 8.0)
}

#[test]
fn a_flow_begins_over_the_same_paths_with_and_without_a_call() {
    let without = rate(None);
    assert!(without > 170.0, "{without} Mbit/s, seed {SEED}");
    for call in CALLS {
        let beside = rate(Some(call));
        assert!(beside > 0.95 * without, "{beside} of {without} Mbit/s, seed {SEED}: {call:?}");
    }
}
