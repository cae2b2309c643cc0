//! Duplicate mapping: a copy on every path; what arrives on any is delivered, once, also without a window.

use std::time::Duration;

use mpt_core::Mapping;

use crate::virtual_network::{Network, PathSetup, SIDES, Setup, millis};

fn run(seed: u64, losses: &[f64], window: u16) -> Network {
    let paths = (0..).zip(losses).map(|(n, &loss)| PathSetup::new(millis(5 + 50 * n)).loss(loss));
    let mut setup = Setup { mapping: Mapping::Duplicate, ..Setup::new(seed, paths.collect()) };
    setup.reorder.window = Some(window);
    let mut network = Network::new(setup);
    network.run(millis(1000), Duration::from_micros(200));
    network.settle();

    network.assert_all_delivered_once();
    for side in SIDES {
        for copies in network.wire[side].chunks(losses.len()) {
            assert!(copies.iter().map(|copy| copy.path).eq(0..losses.len()));
            assert!(copies.iter().all(|copy| copy.id == copies[0].id));
            assert!(copies.iter().all(|copy| copy.number == copies[0].number));
        }
        if window > 0 {
            assert_eq!(network.inversions(side), 0);
        }
    }
    network
}

#[test]
fn nothing_is_lost_while_one_path_is_whole() {
    for window in [0, 16_384] {
        for losses in [[0.3, 0.0], [0.0, 0.3], [1.0, 0.0], [0.0, 0.0]] {
            let network = run(1, &losses, window);
            for side in SIDES {
                assert_eq!(network.delivered(side).len() as u64, network.hosts[side].sent);
            }
        }
    }
}

#[test]
fn only_what_is_lost_on_all_paths_is_lost() {
    for window in [0, 16_384] {
        for losses in [&[0.3, 0.3][..], &[0.5, 0.2, 0.4]] {
            let network = run(2, losses, window);
            for side in SIDES {
                assert!((network.delivered(side).len() as u64) < network.hosts[side].sent);
            }
        }
    }
}
