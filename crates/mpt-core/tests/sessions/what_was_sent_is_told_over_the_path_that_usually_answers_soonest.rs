//! Frames that the peer needs soon take the path that usually answers soonest. The least of some hundred round-trip times of
//! a long path that jitters may be below the usual one of a short path, and does not count.

use std::time::Duration;

use mpt_core::Mapping;
use mpt_link::{Change, Distribution, Jitter, Redraw};

use super::network::*;

/// The delays of the paths, in milliseconds.
const DELAYS: [u64; 2] = [35, 50];
/// The standard deviations of these delays, in milliseconds.
const DEVIATIONS: [u64; 2] = [8, 25];

/// The control frames that a client sends over each path in two seconds, while a packet leaves every 5 ms.
fn frames(seed: u64) -> [usize; 2] {
    let setup = Setup { mapping: Mapping::Adaptive, ..Setup::new(seed, &DELAYS) };
    let mut network = Network::new(setup);
    for (path, deviation) in DEVIATIONS.map(millis).into_iter().enumerate() {
        let distribution = Distribution::Normal { deviation };
        let jitter = Jitter { distribution, redraw: Redraw::EveryPacket };
        for side in SIDES {
            network.change(side, path, Change::Jitter(Some(jitter)));
        }
    }
    network.expect(Duration::from_secs(3), "all paths come up", Network::is_all_up);
    network.run(Duration::from_secs(4));
    network.captured = Some(Vec::new());
    network.run_traffic(Duration::from_secs(2), millis(5));
    let captured = network.captured.take().unwrap();
    [0, 1].map(|wanted| {
        captured.iter().filter(|(side, path, _)| (*side, *path) == (CLIENT, wanted)).count()
    })
}

#[test]
fn whatever_the_quickest_of_many_answers() {
    for seed in 1..=8 {
        let [short, long] = frames(seed);
        // Both are probed, and answer as many probes.
        assert!(
            short > 2 * long,
            "seed {seed}: {short} frames over the short path, {long} over the other"
        );
    }
}
