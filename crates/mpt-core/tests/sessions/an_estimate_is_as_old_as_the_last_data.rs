//! The sender says how long ago a path has carried the data that its loss and its queue are of.

use std::time::Duration;

use mpt_core::{Estimate, Mapping};
use mpt_link::{Loss, Params, Probability};

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);
/// The delay of the path, in milliseconds.
const DELAY: u64 = 20;

fn estimate(network: &Network) -> Estimate {
    let client = &network.hosts[CLIENT];
    let connection = client.node.tunnels().connection(client.connection).unwrap();
    let (_, estimate) = connection.estimates(network.now()).next().unwrap();
    estimate
}

#[test]
fn also_when_that_was_long_ago() {
    let loss = Loss::Bernoulli(Probability::new(0.05).unwrap());
    let links = vec![Params { delay: millis(DELAY), loss, ..Params::default() }];
    let setup = Setup { mapping: Mapping::Adaptive, links, ..Setup::new(1, &[DELAY]) };
    let mut network = Network::established(setup);
    assert_eq!(estimate(&network).idle, None, "nothing was sent");

    network.run_traffic(10 * SECOND, millis(2));
    let busy = estimate(&network);
    assert!((0.02..0.1).contains(&busy.loss), "{busy:?}");
    // The latest packet that is known to have arrived left a round-trip time and a report ago.
    let idle = busy.idle.unwrap();
    assert!(idle >= millis(2 * DELAY) && idle < SECOND, "{idle:?}");

    // The last packets are settled.
    network.run(SECOND);
    let settled = estimate(&network);
    network.run(59 * SECOND);
    let rests = estimate(&network);
    assert!((59 * SECOND..62 * SECOND).contains(&rests.idle.unwrap()), "{rests:?}");
    assert_eq!(rests.loss, settled.loss, "nothing was learnt meanwhile");

    network.run_traffic(SECOND, millis(2));
    assert!(estimate(&network).idle.unwrap() < SECOND, "{:?}", estimate(&network));
}
