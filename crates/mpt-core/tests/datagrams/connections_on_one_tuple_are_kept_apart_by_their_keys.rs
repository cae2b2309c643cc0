//! A datagram that comes in belongs to one path of one connection, by socket, remote address, remote port where configured, and key.

use std::net::SocketAddr;

use mpt_core::{ConfigError, ConnectionConfig, DatagramDrop, Node, PathConfig, Selector, SocketId};

use crate::common::*;

fn keyed(name: &str, key: Option<u32>, prefix: &str) -> ConnectionConfig {
    let prefix = prefix.parse().unwrap();
    ConnectionConfig {
        name: name.into(),
        key,
        selectors: vec![Selector::to(prefix)],
        sources: vec![prefix],
        ..connection(vec![path(1)])
    }
}

fn accepted(node: &Node<Packet>) -> Vec<u64> {
    node.tunnels().connections().map(|(_, connection)| connection.accepted().total()).collect()
}

#[test]
fn two_with_keys_and_one_without() {
    let mut node = Node::new([0; 32]);
    for (name, key, prefix) in
        [("a", Some(1), "10.1.0.0/16"), ("b", Some(2), "10.2.0.0/16"), ("c", None, "10.3.0.0/16")]
    {
        node.add_connection(origin(), keyed(name, key, prefix)).unwrap();
    }
    let (now, device) = (origin(), &mut Device::default());
    let from = |source| udp(source, "10.0.0.1", 1, 2, &[]);
    receive(&mut node, now, 1, &gre_key(1, 0, &from("10.1.0.1")), device).unwrap();
    assert_eq!(accepted(&node), [1, 0, 0]);
    receive(&mut node, now, 1, &gre_key(2, 0, &from("10.2.0.1")), device).unwrap();
    assert_eq!(accepted(&node), [1, 1, 0]);
    receive(&mut node, now, 1, &gre(0, &from("10.3.0.1")), device).unwrap();
    assert_eq!(accepted(&node), [1, 1, 1]);

    let wrong = receive(&mut node, now, 1, &gre_key(3, 0, &from("10.1.0.1")), device);
    assert_eq!(wrong, Err(DatagramDrop::WrongKey));
    let foreign = receive(&mut node, now, 1, &gre_key(2, 1, &from("10.1.0.1")), device);
    assert_eq!(foreign, Err(DatagramDrop::ForeignSource));
    assert_eq!(accepted(&node), [1, 1, 1]);
    assert_eq!(device.delivered.len(), 3);
}

#[test]
fn a_missing_key_and_an_unknown_sender_have_their_counters() {
    let mut node = node(keyed("a", Some(1), "10.1.0.0/16"));
    let (now, device) = (origin(), &mut Device::default());
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    let missing = receive(&mut node, now, 1, &gre(0, &inner), device);
    assert_eq!(missing, Err(DatagramDrop::MissingKey));
    let unknown = receive(&mut node, now, 2, &gre_key(1, 0, &inner), device);
    assert_eq!(unknown, Err(DatagramDrop::UnknownSender));
    // The right address on another path's socket.
    let remote = SocketAddr::new(ip("192.0.2.1"), PORT);
    let datagram = gre_key(1, 0, &inner);
    let unknown = receive_from(&mut node, now, SocketId(9), remote, &datagram, device);
    assert_eq!(unknown, Err(DatagramDrop::UnknownSender));
    let drops = node.tunnels().datagram_drops();
    assert_eq!((drops.missing_key, drops.unknown_sender, drops.total()), (1, 2, 3));
}

#[test]
fn the_remote_port_counts_only_where_it_is_configured() {
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    for (configured, port, expected) in [
        (None, 1, Ok(())),
        (None, 65_535, Ok(())),
        (Some(4754), 4754, Ok(())),
        (Some(4754), 4755, Err(DatagramDrop::UnknownSender)),
    ] {
        let path = PathConfig { remote_source_port: configured, ..path(1) };
        let mut node = node(connection(vec![path]));
        let remote = SocketAddr::new(ip("192.0.2.1"), port);
        let device = &mut Device::default();
        let result =
            receive_from(&mut node, origin(), SocketId(1), remote, &gre(0, &inner), device);
        assert_eq!(result, expected, "configured {configured:?}, arrived from {port}");
    }
}

#[test]
fn an_ipv4_mapped_address_is_the_ipv4_address() {
    let mut node = node(connection(vec![path(1)]));
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    let remote = SocketAddr::new(ip("::ffff:192.0.2.1"), PORT);
    let device = &mut Device::default();
    receive_from(&mut node, origin(), SocketId(1), remote, &gre(0, &inner), device).unwrap();
}

#[test]
fn two_connections_on_one_tuple_need_different_keys() {
    for (key, port, other_port, refused) in [
        (None, None, None, true),
        (Some(7), None, None, true),
        (None, Some(1), None, true),
        (None, Some(1), Some(1), true),
        (None, Some(1), Some(2), false),
    ] {
        let mut node: Node<Packet> = Node::new([0; 32]);
        let mut first = keyed("first", key, "10.1.0.0/16");
        first.paths[0].remote_source_port = port;
        let mut second = keyed("second", key, "10.2.0.0/16");
        second.paths[0].remote_source_port = other_port;
        second.paths[0].name = "wan".into();
        node.add_connection(origin(), first.clone()).unwrap();
        let result = node.add_connection(origin(), second.clone()).map(|_| ());
        let (first_path, second_path) = ("first/path1".to_owned(), "second/wan".to_owned());
        let same = ConfigError::SameTuple { first: first_path, second: second_path };
        let expected = if refused { Err(same) } else { Ok(()) };
        assert_eq!(result, expected);
        assert_eq!(mpt_core::check(&[first.clone(), second]), expected);
        if refused {
            assert_eq!(node.tunnels().connections().count(), 1);
            assert_eq!(node.tunnels().paths().count(), 1);
            // Nothing of the refused connection is left in the way.
            node.add_connection(origin(), keyed("third", Some(8), "10.2.0.0/16")).unwrap();
        }
    }
}
