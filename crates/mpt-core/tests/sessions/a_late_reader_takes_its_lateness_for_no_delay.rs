//! A daemon that gets the processor late reads its sockets late. Where it is told when packets arrived,
//! both ends learn the same of their paths as if it read at once.

use std::time::Duration;

use mpt_core::Mapping;
use mpt_link::{Bitrate, Params};

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);
/// The delays of the paths, in milliseconds.
const DELAYS: [u64; 2] = [10, 40];

/// Runs a connection whose server reads like this, far below what its paths carry.
fn run(mapping: Mapping, reader: Reader) -> Network {
    let rate = Some(Bitrate::new(10_000_000).unwrap());
    let link = |delay| Params { delay: millis(delay), rate, ..Params::default() };
    let links = DELAYS.map(link).to_vec();
    let mut network = Network::established(Setup { mapping, links, ..Setup::new(1, &DELAYS) });
    network.readers[SERVER] = reader;
    network.run_traffic(20 * SECOND, millis(1));
    network
}

/// The queue and the jitter that the client sees on the path of its data, from the reports of the server.
fn seen(reader: Reader) -> (Duration, Duration) {
    let network = run(Mapping::Adaptive, reader);
    let client = &network.hosts[CLIENT];
    let connection = client.node.tunnels().connection(client.connection).unwrap();
    let (path, estimate) = connection.estimates(network.now()).next().unwrap();
    assert!(path == client.paths[0] && estimate.delivered > 0, "{estimate:?}");
    (estimate.queue, estimate.jitter)
}

/// By how much the server takes the first path for shorter.
fn lead(reader: Reader) -> Duration {
    let network = run(Mapping::Packet, reader);
    let server = &network.hosts[SERVER];
    server.node.tunnels().path_lead(server.paths[0])
}

#[test]
fn and_its_peer_sees_no_queue() {
    assert_eq!(seen(Reader::AtOnce), (Duration::ZERO, Duration::ZERO));
    assert_eq!(seen(Reader::late(true)), (Duration::ZERO, Duration::ZERO));
    let (queue, jitter) = seen(Reader::late(false));
    assert!(
        queue > Duration::ZERO && jitter > Duration::ZERO,
        "without the times: {queue:?}, {jitter:?}"
    );
}

#[test]
fn and_it_knows_which_path_is_shorter() {
    assert_eq!(lead(Reader::AtOnce), millis(30));
    assert_eq!(lead(Reader::late(true)), millis(30));
    assert_eq!(lead(Reader::late(false)), Duration::ZERO, "without the times");
}
