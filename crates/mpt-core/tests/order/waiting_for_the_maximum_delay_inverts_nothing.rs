//! With `early_release = false` nothing is delivered out of order, wherever window and maximum delay allow it.

use std::time::Duration;

use crate::virtual_network::{Network, SIDES, Setup, millis};

fn run(setup: Setup) -> Network {
    let mut network = Network::new(setup);
    network.run(millis(1500), Duration::from_micros(120));
    network.settle();
    network.assert_all_delivered_once();
    network
}

/// The slowest packet takes 98 ms: 55 ms and the 8.6 deviations of 5 ms that are the most there is.
fn without_early_release(mut setup: Setup) -> Setup {
    setup.reorder.early_release = false;
    setup
}

#[test]
fn where_they_suffice() {
    for seed in 1..=3 {
        for setup in Setup::mixed_paths(seed) {
            let network = run(without_early_release(setup));
            for side in SIDES {
                assert_eq!(network.inversions(side), 0);
                let connection = network.hosts[side].connection();
                let counters = connection.reorder().expect("it has a window").counters();
                assert_eq!((counters.late, counters.overflow, counters.stray), (0, 0, 0));
                assert!(counters.expired > 0, "nothing was ever given up");
            }
        }
    }
}

#[test]
fn where_the_delay_is_too_short_all_is_delivered_nevertheless() {
    for setup in Setup::mixed_paths(1) {
        let mut setup = without_early_release(setup);
        setup.reorder.max_delay = Some(millis(20));
        let network = run(setup);
        assert!(SIDES.into_iter().all(|side| network.inversions(side) > 0));
    }
}

#[test]
fn where_the_window_is_too_small_all_is_delivered_nevertheless() {
    for setup in Setup::mixed_paths(1) {
        let mut setup = without_early_release(setup);
        setup.reorder.window = Some(25);
        let network = run(setup);
        assert!(SIDES.into_iter().all(|side| network.inversions(side) > 0));
    }
}
