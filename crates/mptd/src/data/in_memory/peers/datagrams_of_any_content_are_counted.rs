//! Datagrams of any content, from strangers and from the peer's own address, are counted; data goes on.

use std::time::Duration;

use crate::data::in_memory::system::network::{Network, address, line};
use crate::data::in_memory::system::sockets::Datagram;

#[test]
fn and_data_goes_on() {
    let mut network = Network::new(11, &[line(5)], "");
    network.establish();
    let mut random = fastrand::Rng::with_seed(11);
    let sockets = network.hosts[1].system.sockets();
    let to = sockets[0].borrow().local;
    let stranger = "192.0.2.66:4754".parse().unwrap();
    let mut injected = 0;
    for round in 0..4000_u64 {
        let from = if random.bool() { stranger } else { (address(0, 0), 4754).into() };
        let mut bytes: Vec<u8> = (0..random.usize(0..200)).map(|_| random.u8(..)).collect();
        if random.bool() && bytes.len() > 8 {
            // A good GRE header of a control frame.
            bytes[..4].copy_from_slice(&[0, 0, 0x88, 0xb5]);
        }
        injected += 1;
        network.inject(1, Datagram { from, to, tos: 0, bytes });
        if round % 4 == 0 {
            network.send(0, 1000, 1, Duration::from_millis(1));
        }
    }
    network.run(Duration::from_secs(1));
    let expected: Vec<u64> = (0..1000).collect();
    assert_eq!(network.hosts[1].numbers(), expected);
    let tunnels = network.hosts[1].data.node.tunnels();
    let connections = tunnels.connections().map(|(_, it)| it.datagram_drops().total());
    let dropped = tunnels.datagram_drops().total() + connections.sum::<u64>();
    let counters = network.hosts[1].data.node.sessions().counters();
    let refused =
        counters.malformed + counters.bad_version + counters.unknown_index + counters.bad_mac;
    assert_eq!(dropped + refused, injected, "{counters:?}");
}
