//! A line that swallows everything is left within its deadline, costs nothing afterwards, and is used again when it carries again.

use std::time::Duration;

use mpt_link::{Change, Loss, Probability};

use crate::data::in_memory::system::network::{Network, line};

const MILLISECOND: Duration = Duration::from_millis(1);

#[test]
fn and_used_again() {
    let mut network = Network::new(5, &[line(5), line(20)], "mapping = \"packet\"");
    network.establish();
    network.send(0, 1000, 500, MILLISECOND);
    network.cut(0, true);
    network.send(0, 1000, 1000, MILLISECOND);
    assert!(!network.hosts[0].is_up(), "it was left");
    network.run(Duration::from_secs(1));
    let arrived = network.hosts[1].numbers().len();
    // Half of the packets went there until it was held for dead.
    assert!((1000..1500).contains(&arrived), "{arrived} of 1500");

    network.hosts[1].received.clear();
    let first = network.hosts[0].sent();
    network.send(0, 1000, 1000, MILLISECOND);
    network.cut(0, false);
    network.send(0, 1000, 3000, MILLISECOND);
    network.run(Duration::from_secs(1));
    assert!(network.hosts[0].is_up(), "it is used again");
    let expected: Vec<u64> = (first..network.hosts[0].sent()).collect();
    assert_eq!(network.hosts[1].numbers(), expected);
}

impl Network {
    /// Makes a line lose everything that is sent on it, both ways, or nothing.
    fn cut(&mut self, line: usize, cut: bool) {
        let probability = if cut { Probability::ONE } else { Probability::ZERO };
        let now = self.now();
        for side in 0..2 {
            self.link(side, line).change(now, Change::Loss(Loss::Bernoulli(probability)));
        }
    }
}
