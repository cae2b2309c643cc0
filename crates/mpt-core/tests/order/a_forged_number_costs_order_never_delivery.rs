//! One forged packet with a number far ahead: every genuine packet is delivered nevertheless, once, and after a second
//! (three maximum delays, if that is longer) in order as before.

use std::time::Duration;

use crate::virtual_network::{Network, PathSetup, Setup, forged, millis};

const INTERVAL: Duration = Duration::from_micros(200);

/// A network in which a packet has been forged whose number is `ahead` of the next one from host 0; that
/// number, and the forged one.
fn with_forged(seed: u64, ahead: u32) -> (Network, u64, u64) {
    let paths = vec![PathSetup::new(millis(5)), PathSetup::new(millis(55))];
    let mut network = Network::new(Setup::new(seed, paths));
    network.run(millis(300), INTERVAL);
    let next = network.hosts[0].connection().next_sequence();
    let datagram = forged(network.setup(), 0, next.wrapping_add(ahead));
    network.inject(0, 0, datagram);
    (network, u64::from(next), u64::from(next) + u64::from(ahead))
}

/// Returns how many genuine packets were delivered out of order. Runs at least until packet `until` has been sent.
fn inversions(seed: u64, ahead: u32, until: u64) -> usize {
    let (mut network, forged_at, _) = with_forged(seed, ahead);
    // At the latest when the forged packet has waited for the maximum delay, the window stands wrong. Then until the first
    // packet comes that does not advance it, then the second, then those that were sent before that ended.
    network.run(millis(300 + 55 + 1000 + 55), INTERVAL);
    let healed = network.hosts[0].sent;
    while network.hosts[0].sent < healed + 2000 || network.hosts[0].sent < until {
        network.run(millis(100), INTERVAL);
    }
    network.settle();

    network.assert_all_delivered_once();
    assert_eq!(network.hosts[1].forged.len(), 1);
    let delivered = network.delivered(0);
    // Packets from before the forged one are delivered in order even so: both paths together hold less than 400 packets.
    let before: Vec<u64> = delivered.iter().copied().filter(|&id| id < forged_at - 400).collect();
    assert!(before.is_sorted());
    let after: Vec<u64> = delivered.iter().copied().filter(|&id| id >= healed).collect();
    assert!(after.is_sorted());
    assert_eq!(network.inversions(1), 0, "the other direction has nothing to do with it");
    network.inversions(0)
}

#[test]
fn beyond_the_window() {
    for seed in 1..=2 {
        // Until the packet comes whose number was forged.
        assert!(inversions(seed, 16_400, 18_500) > 0);
        for ahead in [20_000, 60_000] {
            assert!(inversions(seed, ahead, 0) > 0);
        }
    }
}

#[test]
fn beyond_the_horizon_order_is_not_even_touched() {
    for seed in 1..=2 {
        for ahead in [100_000, 1 << 31, u32::MAX - 100_000] {
            assert_eq!(inversions(seed, ahead, 0), 0);
        }
    }
}

#[test]
fn within_the_window_only_the_packet_whose_number_it_took_is_lost() {
    for ahead in [5, 700, 3000] {
        let (mut network, _, number) = with_forged(1, ahead);
        while network.hosts[0].sent < number + 2000 {
            network.run(millis(100), INTERVAL);
        }
        network.settle();
        network.assert_nothing_twice();
        let delivered = network.delivered(0);
        let mut missing = (0..network.hosts[0].sent).filter(|id| !delivered.contains(id));
        assert_eq!((missing.next(), missing.next()), (Some(number), None), "{ahead}");
        assert_eq!(network.hosts[1].forged.len(), 1);
    }
}
