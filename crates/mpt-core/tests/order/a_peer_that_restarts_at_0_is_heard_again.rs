//! A peer restarts and numbers from 0 without saying so: within a second of it, or three maximum delays, all is as before.

use std::time::Duration;

use crate::virtual_network::{Network, PathSetup, Setup, millis};

/// Host 0 restarts after 2.5 s, having begun at `first_number`. Returns how many packets that it sent after that were not
/// delivered.
fn lost_by_restart(seed: u64, first_number: u32) -> usize {
    let paths = vec![PathSetup::new(millis(5)), PathSetup::new(millis(55)).weights([2, 1])];
    let mut network = Network::new(Setup { first_number, ..Setup::new(seed, paths) });
    let interval = Duration::from_micros(250);
    // Long enough that its new numbers would not soon reach the old ones.
    network.run(millis(2500), interval);
    let restarted = network.hosts[0].sent;
    network.restart(0);
    // The last packets before the restart may take the 55 ms of the slow path, then the second begins; the first
    // packet after it is a moment late.
    network.run(millis(55 + 1000 + 10), interval);
    let healed = network.hosts[0].sent;
    network.run(millis(1000), interval);
    network.settle();

    let delivered = network.delivered(0);
    // Everything from before, too: it was on its way.
    assert_eq!(delivered.iter().filter(|&&id| id < restarted).count() as u64, restarted);
    let after: Vec<u64> = delivered.iter().copied().filter(|&id| id >= healed).collect();
    assert!(after.into_iter().eq(healed..network.hosts[0].sent), "in order, none missing");
    network.assert_nothing_twice();

    // The other direction: the new host takes what comes first as its position, and delivers all that reaches it.
    let (sent, delivered) = (network.hosts[1].sent, network.delivered(1));
    assert_eq!(delivered.last(), Some(&(sent - 1)));

    let kept = network.delivered(0).len() as u64;
    (network.hosts[0].sent - kept) as usize
}

#[test]
fn when_its_numbers_were_small() {
    // They look like packets that came before, as the numbers of copies do.
    for seed in 1..=3 {
        assert!(lost_by_restart(seed, 0) > 0);
    }
}

#[test]
fn when_its_numbers_were_far_away() {
    // Three strays in a row are enough: nothing is lost.
    for first_number in [100_000, 1 << 31, u32::MAX - 100_000] {
        assert_eq!(lost_by_restart(1, first_number), 0, "{first_number}");
    }
}
