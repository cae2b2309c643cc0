//! Over lines of different delays packets arrive whole, once and in order, in both directions at the same time.

use std::time::Duration;

use crate::data::in_memory::system::network::{Network, line};

#[test]
fn over_two_lines_of_different_delays() {
    for seed in 0..5 {
        let mut network = Network::new(seed, &[line(5), line(40)], "");
        network.establish();
        for _ in 0..500 {
            network.send(0, 1000, 1, Duration::from_micros(700));
            network.send(1, 1000, 1, Duration::from_micros(300));
        }
        network.run(Duration::from_secs(1));
        for side in 0..2 {
            let expected: Vec<u64> = (0..network.hosts[side].sent()).collect();
            assert_eq!(network.hosts[1 - side].numbers(), expected, "from {side}");
        }
    }
}

/// Bursts leave as batches, and arrive as such.
#[test]
fn in_bursts() {
    let mut network = Network::new(1, &[line(5), line(5)], "");
    network.establish();
    for _ in 0..50 {
        network.send(0, 1000, 200, Duration::ZERO);
        network.run(Duration::from_millis(20));
    }
    let expected: Vec<u64> = (0..10_000).collect();
    assert_eq!(network.hosts[1].numbers(), expected);
}
