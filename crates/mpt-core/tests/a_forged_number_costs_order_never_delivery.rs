//! One forged packet with a number far ahead: every genuine packet is delivered nevertheless, once, and after a second
//! (three maximum delays, if that is longer) in order as before.

mod virtual_network;

use std::time::Duration;

use virtual_network::{Network, PathSetup, Setup, forged, millis};

/// Returns how many genuine packets were delivered out of order.
fn inversions(seed: u64, ahead: u32, loss: f64) -> usize {
    let paths = vec![PathSetup::new(millis(5)).loss(loss), PathSetup::new(millis(55)).loss(loss)];
    let mut network = Network::new(Setup::new(seed, paths));
    let interval = Duration::from_micros(120);
    network.run(millis(400), interval);
    let number = network.hosts[0].connection().next_sequence().wrapping_add(ahead);
    let datagram = forged(network.setup(), 0, number);
    let forged_at = network.hosts[0].sent;
    network.inject(0, 0, datagram);
    // Until the first packet that does not advance the window, then the second, then those that were sent before it ended.
    network.run(millis(1000 + 2 * 55), interval);
    let healed = network.hosts[0].sent;
    // Beyond the forged number, if it is 20,000 ahead.
    network.run(millis(1700), interval);
    network.settle();

    network.assert_all_delivered_once();
    assert_eq!(network.hosts[1].forged.len(), 1);
    let delivered = network.delivered(0);
    let order = |range: std::ops::Range<u64>| -> Vec<u64> {
        delivered.iter().copied().filter(|id| range.contains(id)).collect()
    };
    assert!(order(0..forged_at.saturating_sub(1000)).is_sorted(), "before");
    assert!(order(healed..u64::MAX).is_sorted(), "after");
    assert_eq!(network.inversions(1), 0, "the other direction has nothing to do with it");
    network.inversions(0)
}

#[test]
fn within_the_horizon() {
    for seed in 1..=2 {
        for ahead in [20_000, 60_000] {
            assert!(inversions(seed, ahead, 0.0) > 0);
            assert!(inversions(seed, ahead, 0.01) > 0);
        }
    }
}

#[test]
fn beyond_it_order_is_not_even_touched() {
    for seed in 1..=2 {
        for ahead in [100_000, 1 << 31, u32::MAX - 100_000] {
            assert_eq!(inversions(seed, ahead, 0.0), 0);
        }
    }
}
