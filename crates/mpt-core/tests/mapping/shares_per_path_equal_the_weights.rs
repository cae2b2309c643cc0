//! In every round of as many packets as the sum of the weights, each path gets as many as its weight: seen on the wire, and
//! counted alike by sender and receiver.

use crate::virtual_network::{Network, PathSetup, SIDES, Setup, millis};

fn assert_shares(weights: &[[u16; 2]]) {
    const ROUNDS: usize = 3;
    let paths = weights.iter().map(|&weights| PathSetup::new(millis(10)).weights(weights));
    let mut network = Network::new(Setup::new(1, paths.collect()));
    for side in SIDES {
        let round: usize = weights.iter().map(|weights| usize::from(weights[side])).sum();
        while network.wire[side].len() < ROUNDS * round {
            network.send(side);
        }
        network.settle();
        for (path, weights) in weights.iter().enumerate() {
            let weight = usize::from(weights[side]);
            for packets in network.wire[side].chunks(round) {
                let share = packets.iter().filter(|packet| packet.path == path).count();
                assert_eq!(share, weight, "path {path} from host {side}");
            }
            let [sender, receiver] = [side, 1 - side].map(|side| {
                let host = &network.hosts[side];
                host.node.tunnels().path(host.paths[path]).expect("nobody removes it")
            });
            assert_eq!(sender.sent().packets, (ROUNDS * weight) as u64);
            assert_eq!(receiver.received(), sender.sent());
        }
    }
    network.assert_all_delivered_once();
}

#[test]
fn over_2_paths() {
    assert_shares(&[[94, 10_000], [121, 1]]);
    assert_shares(&[[1, 3], [1, 1]]);
}

#[test]
fn over_12_paths() {
    let weights: Vec<[u16; 2]> = (0..12).map(|n| [1 + n * 5 % 7, 1 + n * 37 % 101]).collect();
    assert_shares(&weights);
}
