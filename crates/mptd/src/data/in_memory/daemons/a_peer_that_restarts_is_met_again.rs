//! A daemon that dies without a word and begins anew, with numbers from the beginning, is met again by either side.

use std::time::Duration;

use crate::data::in_memory::system::network::{Network, line};

#[test]
fn on_either_side() {
    for side in 0..2 {
        let mut network = Network::new(3, &[line(5), line(20)], "");
        network.establish();
        network.send(0, 1000, 200, Duration::from_millis(1));
        network.restart(side);
        // Whatever is sent meanwhile may be lost.
        network.send(0, 1000, 2000, Duration::from_millis(2));
        network.establish();
        let first = network.hosts[0].sent();
        network.hosts[1].received.clear();
        network.send(0, 1000, 500, Duration::from_millis(1));
        network.run(Duration::from_secs(1));
        let expected: Vec<u64> = (first..first + 500).collect();
        assert_eq!(network.hosts[1].numbers(), expected, "side {side} restarted");
    }
}
