//! A peer is told of hundreds of single packets that are lost between others at once, and not of the first 32 in each round trip, although each is
//! a range of missing numbers of its own.

use std::time::Duration;

use mpt_core::Mapping;
use mpt_link::{Change, Loss, Probability};

use super::network::*;

#[test]
fn hundreds_of_ranges_take_two_round_trips() {
    for seed in 0..5 {
        let setup = Setup { mapping: Mapping::Adaptive, ..Setup::new(seed, &[20]) };
        let mut network = Network::established(setup);
        // Too few packets for the sender to know that none are lost: it is asked every 5 ms.
        network.run_traffic(millis(300), millis(1));
        let half = Loss::Bernoulli(Probability::new(0.5).expect("a share"));
        network.change(CLIENT, 0, Change::Loss(half));
        network.run_traffic(millis(30), Duration::from_micros(50));
        network.change(CLIENT, 0, Change::Loss(Loss::None));
        let sent = network.hosts[CLIENT].sent as usize;
        network.run(millis(20));
        let missing = sent - network.delivered(CLIENT).len();
        assert!(missing > 200, "{missing}");
        // By the first 32 ranges alone it took 116 ms.
        let all = |network: &Network| network.delivered(CLIENT).len() >= sent;
        network.expect_under_traffic(millis(80), "each packet has come", all);
    }
}
