//! Flow mapping: all packets of a flow take one path and carry no number; the flow arrives in order, and no flow waits for
//! another. A path that goes away takes its own flows elsewhere, no others.

use std::time::Duration;

use mpt_core::{DownReason, Mapping};

use crate::virtual_network::{Inner, Network, PathSetup, SIDES, Setup, Transmission, millis};

const FLOWS: u16 = 60;
const PATHS: usize = 3;
const INTERVAL: Duration = Duration::from_micros(200);

fn network(seed: u64) -> Network {
    let paths = [5, 30, 100]
        .map(|delay| PathSetup::new(millis(delay)).jitter(millis(2)).keep_order().loss(0.02));
    let setup = Setup::new(seed, paths.to_vec());
    Network::new(Setup { mapping: Mapping::Flow, flows: FLOWS, inner: Inner::Both, ..setup })
}

/// By flow: its path.
fn paths(packets: &[Transmission]) -> Vec<usize> {
    let mut paths = vec![None; usize::from(FLOWS)];
    for packet in packets {
        assert_eq!(packet.number, None);
        let path = &mut paths[(packet.id % u64::from(FLOWS)) as usize];
        assert_eq!(*path.get_or_insert(packet.path), packet.path, "packet {}", packet.id);
    }
    paths.into_iter().map(|path| path.expect("every flow has sent")).collect()
}

#[test]
fn while_the_paths_stay() {
    for seed in 1..=3 {
        let mut network = network(seed);
        network.run(millis(1000), INTERVAL);
        network.settle();
        network.assert_all_delivered_once();
        for side in SIDES {
            let paths = paths(&network.wire[side]);
            assert!((0..PATHS).all(|path| paths.contains(&path)), "all paths are in use");
            let delivered = &network.hosts[1 - side].delivered;
            for flow in 0..FLOWS {
                let ids = delivered.iter().filter(|packet| packet.flow == flow);
                assert!(ids.map(|packet| packet.id).is_sorted(), "flow {flow}");
            }
            // The harness sees to it that what is delivered has waited only if it was kept.
            let connection = network.hosts[side].connection();
            let delivered = network.delivered(1 - side).len() as u64;
            assert_eq!(connection.accepted().unsequenced, delivered);
            assert_eq!(connection.accepted().total(), delivered);
        }
    }
}

#[test]
fn while_a_path_goes_and_returns() {
    for gone in 0..PATHS {
        let mut network = network(1);
        let mut phases = SIDES.map(|_| Vec::new());
        for phase in 0..3 {
            let first = SIDES.map(|side| network.wire[side].len());
            network.run(millis(300), INTERVAL);
            for side in SIDES {
                phases[side].push(paths(&network.wire[side][first[side]..]));
            }
            network.change_path(gone, |node, now, path| match phase {
                0 => node.set_path_state(now, path, DownReason::Administrative, true),
                _ => node.set_path_state(now, path, DownReason::Administrative, false),
            });
        }
        network.settle();
        network.assert_all_delivered_once();
        for [before, without, after] in phases.map(|phases| <[_; 3]>::try_from(phases).expect("3"))
        {
            assert!(before.contains(&gone));
            for (&before, without) in before.iter().zip(without) {
                assert_ne!(without, gone);
                assert!(without == before || before == gone, "a flow moved without need");
            }
            assert_eq!(before, after);
        }
    }
}
