//! With `late = "drop"` nothing is delivered out of order, however small window and maximum delay.

use std::time::Duration;

use mpt_core::reorder::{Config, Late};

use crate::virtual_network::{Network, SIDES, Setup, millis};

/// Returns how many packets were dropped for it.
fn dropped(setup: Setup, reorder: Config) -> u64 {
    let mut network = Network::new(Setup { reorder, ..setup });
    network.run(millis(800), Duration::from_micros(120));
    network.settle();
    network.assert_nothing_twice();
    let mut dropped = 0;
    for side in SIDES {
        assert_eq!(network.inversions(side), 0, "{reorder:?}");
        let connection = network.hosts[1 - side].connection();
        let counters = connection.reorder().expect("it has a window").counters();
        dropped += counters.dropped;
        // Each that arrived was delivered or dropped as late; copies are counted by themselves.
        let delivered = network.delivered(side).len() as u64;
        let copies = connection.accepted().sequenced - network.arriving(side).len() as u64;
        assert_eq!(counters.delivered(), delivered);
        let missing = network.arriving(side).len() as u64 - delivered;
        assert!((missing..=missing + copies).contains(&counters.dropped), "{counters:?}");
    }
    dropped
}

#[test]
fn whatever_window_and_delay() {
    for setup in Setup::mixed_paths(1) {
        for early_release in [false, true] {
            let config = Config { early_release, late: Late::Drop, ..Config::default() };
            let papers = dropped(setup.clone(), config);
            if !early_release {
                assert_eq!(papers, 0, "there was time for all of them");
            }
            assert!(dropped(setup.clone(), Config { window: Some(1), ..config }) > 0);
            assert!(dropped(setup.clone(), Config { window: Some(25), ..config }) > 0);
            assert!(dropped(setup.clone(), Config { max_delay: Some(millis(3)), ..config }) > 0);
            assert!(
                dropped(setup.clone(), Config { max_delay: Some(Duration::ZERO), ..config }) > 0
            );
        }
    }
}
