//! Data both ways over 2 and 12 paths with unequal weights, delays, jitter, loss and copies made by the network: what comes
//! out of a link is delivered, unchanged, once.

use std::time::Duration;

use crate::virtual_network::{Inner, Network, SIDES, Setup, millis};

#[test]
fn with_the_defaults() {
    for seed in 1..=3 {
        for setup in Setup::mixed_paths(seed) {
            let mut network = Network::new(Setup { inner: Inner::Both, ..setup });
            network.run(millis(1500), Duration::from_micros(120));
            network.settle();
            network.assert_all_delivered_once();

            for side in SIDES {
                // Otherwise it has shown nothing.
                let sent = network.hosts[side].sent as usize;
                assert!(sent > 10_000);
                assert!(network.arriving(side).len() < sent, "nothing was lost");
                let connection = network.hosts[side].connection();
                let counters = connection.reorder().expect("it has a window").counters();
                assert!(counters.duplicate > 0, "nothing was duplicated");
                assert!(counters.after_gap > 0, "no gap was given up");

                assert_eq!(counters.packets(), connection.accepted().sequenced);
                assert_eq!(counters.delivered() as usize, network.delivered(1 - side).len());
                assert_eq!(connection.datagram_drops().total(), 0);
                assert_eq!(connection.inner_drops().total(), 0);
            }
        }
    }
}
