//! A thread that gets the processor late reads its sockets late, and measures the delays of the lines all the same: the
//! sockets say when datagrams arrived.

use std::time::Duration;

use crate::data::in_memory::system::network::{Network, line};

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Two hosts on a line of 5 ms, of which the first one works every 30 ms only.
fn late() -> Network {
    let mut network = Network::new(9, &[line(5)], "mapping = \"packet\"");
    network.hosts[0].pause = millis(30);
    network.establish();
    network
}

/// The round-trip time that the first host has measured: the present one, and the least one.
fn rtt(network: &Network) -> [Option<Duration>; 2] {
    let node = &network.hosts[0].data.node;
    let (connection, tunnel) = node.tunnels().connections().next().expect("there is one");
    let path = tunnel.paths().next().expect("it has one");
    let session = node.sessions().session_of(connection).expect("it has one");
    let view = node.sessions().path(session, path).expect("it is there");
    [view.rtt, view.rtt_minimum]
}

#[test]
fn while_nobody_sets_the_clock() {
    let mut network = late();
    network.run(Duration::from_secs(2));
    assert_eq!(rtt(&network), [Some(millis(10)); 2]);
}

#[test]
fn and_one_that_is_set_shortens_no_line() {
    let mut network = late();
    // Longer than a probe takes, and at every time of a pause.
    for _ in 0..200 {
        network.hosts[0].system.set_clock(millis(500));
        network.run(millis(17));
    }
    assert_eq!(rtt(&network)[1], Some(millis(10)));
}
