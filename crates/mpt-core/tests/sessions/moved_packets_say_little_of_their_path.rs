//! An attacker on two paths carries every sealed packet over to the other path as well, where it arrives ahead of itself. Each packet then counts as received
//! on both paths, and that is all: each is delivered once, no path goes down or comes up by it, and shares stay as they were (section 28.7 of
//! docs/protocol.md).

use std::time::Duration;

use mpt_core::Mapping;
use mpt_core::liveness::State;

use super::host::address;
use super::network::*;

/// For each path, the packets that a side has sent and that the other one has counted there.
type Counts = [[u64; 2]; 2];

fn counts(network: &Network, side: Side) -> Counts {
    let path = |side: Side, path: usize| {
        let host = &network.hosts[side];
        host.node.tunnels().path(host.paths[path]).unwrap()
    };
    [0, 1].map(|it| [path(side, it).sent().packets, path(1 - side, it).received().packets])
}

/// Data for some seconds. Returns the counts of both directions, without what was before it.
fn run(seed: u64, mapping: Mapping, attacked: bool) -> [Counts; 2] {
    let setup = Setup { mapping, ..Setup::new(seed, &[20, 40]).sealed() };
    let mut network = Network::established(setup);
    network.run_traffic(millis(1000), millis(1));
    network.run(millis(500));
    let before = SIDES.map(|side| counts(&network, side));
    network.captured_data = Some(Vec::new());
    for _ in 0..5000 {
        network.run_traffic(millis(1), millis(1));
        for (side, path, wire) in network.captured_data.replace(Vec::new()).unwrap() {
            if attacked {
                network.inject(1 - side, 1 - path, address(1 - path, side), wire.bytes);
            }
        }
    }
    network.run(Duration::from_secs(1));
    for side in SIDES {
        let mut ids = network.delivered(side);
        ids.sort_unstable();
        assert!(ids.iter().copied().eq(0..network.hosts[side].sent), "each is delivered once");
        for path in 0..2 {
            let view = network.path(side, path);
            assert_eq!((view.state, view.flaps), (State::Up, 0), "{}", network.describe());
        }
    }
    let after = SIDES.map(|side| counts(&network, side));
    SIDES.map(|side| {
        [0, 1].map(|path| [0, 1].map(|it| after[side][path][it] - before[side][path][it]))
    })
}

#[test]
fn each_counts_once_on_each_path_and_nothing_else_changes() {
    for seed in 0..3 {
        for mapping in [Mapping::Packet, Mapping::Flow, Mapping::Duplicate] {
            let (quiet, attacked) = (run(seed, mapping, false), run(seed, mapping, true));
            for side in SIDES {
                let [sent, received] = [0, 1].map(|it| quiet[side].map(|path| path[it]));
                assert_eq!(sent, received, "{mapping:?}");
                let [under_attack, counted] = [0, 1].map(|it| attacked[side].map(|path| path[it]));
                assert_eq!(under_attack, sent, "{mapping:?}: shares stay as they were");
                // As many as travel on both: on a path that has copies of all, what is moved there is a repetition.
                let all = if mapping == Mapping::Duplicate { sent[0] } else { sent[0] + sent[1] };
                assert_eq!(counted, [all; 2], "{mapping:?}");
            }
        }
    }
}

/// Paths that are measured may be measured wrongly; what is sent arrives all the same.
#[test]
fn where_paths_are_measured_everything_arrives() {
    for seed in 0..3 {
        run(seed, Mapping::Adaptive, true);
    }
}
