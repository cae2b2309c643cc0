//! Sealed packets that are mapped by flow have numbers for their nonces and against repetitions only: each is delivered when it arrives, whatever was lost
//! before it.

use std::collections::BTreeMap;
use std::time::Duration;

use mpt_core::Mapping;
use mpt_link::{Loss, Probability};

use super::network::*;

/// One-way delay of both paths.
const DELAY: Duration = Duration::from_millis(20);

/// Returns the delay of each delivered packet of a client, if one of twenty is lost.
fn delays(seed: u64, mapping: Mapping) -> Vec<Duration> {
    let lossy = |params: &mut mpt_link::Params| {
        params.loss = Loss::Bernoulli(Probability::new(0.05).unwrap());
    };
    let setup = Setup { mapping, ..Setup::new(seed, &[20, 20]).sealed().links(lossy) };
    let mut network = Network::new(setup);
    network.expect(Duration::from_secs(10), "all paths come up", Network::is_all_up);
    let mut sent = BTreeMap::new();
    for _ in 0..2000 {
        network.run(millis(2));
        sent.insert(network.hosts[CLIENT].sent, network.now());
        network.send(CLIENT);
    }
    network.run(Duration::from_secs(1));
    let delivered = network.hosts[SERVER].delivered.iter();
    delivered.filter_map(|(at, id)| sent.get(id).map(|from| *at - *from)).collect()
}

#[test]
fn for_what_is_lost_before_them() {
    for seed in 0..4 {
        let delays = delays(seed, Mapping::Flow);
        assert!(delays.len() > 1800, "{} arrived", delays.len());
        assert!(delays.iter().all(|&delay| delay == DELAY), "{:?}", delays.iter().max());
    }
}

/// Packets in order do.
#[test]
fn unlike_packets_that_are_put_in_order() {
    let delays = delays(0, Mapping::Packet);
    assert!(delays.iter().filter(|&&delay| delay > DELAY).count() > 50);
}
