//! A new complete configuration is applied by its difference.

use mpt_core::{
    ConfigError, ConnectionConfig, DownReason, Mapping, Node, PathConfig, Selector, SocketId,
};

use crate::common::*;

fn named(name: &str, prefix: &str, n: u8) -> ConnectionConfig {
    let prefix = prefix.parse().unwrap();
    ConnectionConfig {
        name: name.into(),
        selectors: vec![Selector::to(prefix)],
        sources: vec![prefix],
        ..connection(vec![path(n)])
    }
}

fn carrier(node: &mut Node<Packet>, destination: &str) -> Option<String> {
    let mut packet = udp("10.0.0.1", destination, 1, 2, &[]);
    let length = packet.len();
    let id =
        node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 1, length)).ok()?.connection;
    Some(node.tunnels().connection(id)?.name().to_owned())
}

#[test]
fn numbers_and_waiting_packets_stay() {
    let mut node = node(connection(paths(&[1, 1])));
    let (now, mut device) = (origin(), Device::default());
    send_many(&mut node, 5);
    let inner = |number: u8| udp("10.1.0.1", "10.0.0.1", 1, 2, &[number]);
    for number in [0, 2] {
        receive(&mut node, now, 1, &gre(number.into(), &inner(number)), &mut device).unwrap();
    }
    let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();

    let mut new = connection(paths(&[3, 1, 1]));
    new.copy_dscp = true;
    node.reconfigure(now, vec![new], &mut device).unwrap();

    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.next_sequence(), 5);
    assert_eq!(connection.paths().take(2).collect::<Vec<_>>(), ids);
    assert_eq!(device.delivered, [inner(0)]);
    receive(&mut node, now, 2, &gre(1, &inner(1)), &mut device).unwrap();
    assert_eq!(device.delivered, [inner(0), inner(1), inner(2)]);
    let mut shares = send_many(&mut node, 10);
    shares.sort_unstable();
    assert_eq!(shares, [1, 1, 1, 1, 1, 1, 2, 2, 3, 3]);
}

#[test]
fn selectors_keys_and_sockets_can_be_exchanged() {
    let mut node: Node<Packet> = Node::new([0; 32]);
    let (now, mut device) = (origin(), Device::default());
    let (a, b) = (named("a", "10.1.0.0/16", 1), named("b", "10.2.0.0/16", 2));
    let ids = node.reconfigure(now, vec![a.clone(), b.clone()], &mut device).unwrap();
    assert_eq!(carrier(&mut node, "10.1.0.1").unwrap(), "a");

    let swapped = vec![
        ConnectionConfig { name: "b".into(), ..a },
        ConnectionConfig { name: "a".into(), ..b },
    ];
    let new_ids = node.reconfigure(now, swapped, &mut device).unwrap();
    assert_eq!(new_ids, [ids[1], ids[0]]);
    assert_eq!(carrier(&mut node, "10.1.0.1").unwrap(), "b");
    assert_eq!(carrier(&mut node, "10.2.0.1").unwrap(), "a");
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    receive(&mut node, now, 1, &gre(0, &inner), &mut device).unwrap();
    assert_eq!(node.tunnels().connection(ids[1]).unwrap().accepted().total(), 1);
}

#[test]
fn what_is_not_listed_is_removed() {
    let mut node: Node<Packet> = Node::new([0; 32]);
    let (now, mut device) = (origin(), Device::default());
    let (a, b) = (named("a", "10.1.0.0/16", 1), named("b", "10.2.0.0/16", 2));
    node.reconfigure(now, vec![a, b.clone()], &mut device).unwrap();
    node.reconfigure(now, vec![b], &mut device).unwrap();
    assert_eq!(carrier(&mut node, "10.1.0.1"), None);
    assert_eq!(carrier(&mut node, "10.2.0.1").unwrap(), "b");
    assert_eq!(node.tunnels().paths().count(), 1);
}

#[test]
fn a_bad_configuration_changes_nothing() {
    let mut node: Node<Packet> = Node::new([0; 32]);
    let (now, mut device) = (origin(), Device::default());
    let (a, b) = (named("a", "10.1.0.0/16", 1), named("b", "10.2.0.0/16", 2));
    node.reconfigure(now, vec![a, b], &mut device).unwrap();
    let bad = vec![named("c", "10.3.0.0/16", 3), named("d", "10.3.0.0/16", 4)];
    let equal = ConfigError::EqualSelectors { first: "c".into(), second: "d".into() };
    assert_eq!(node.reconfigure(now, bad, &mut device), Err(equal));
    assert_eq!(carrier(&mut node, "10.1.0.1").unwrap(), "a");
    assert_eq!(carrier(&mut node, "10.2.0.1").unwrap(), "b");
    assert_eq!(carrier(&mut node, "10.3.0.1"), None);
}

#[test]
fn mapping_and_state_follow() {
    let mut node = node(connection(paths(&[1, 1])));
    let (now, mut device) = (origin(), Device::default());
    let mut new = connection(paths(&[1, 1]));
    new.mapping = Mapping::Duplicate;
    node.reconfigure(now, vec![new.clone()], &mut device).unwrap();
    assert_eq!(send_many(&mut node, 1), [1, 2]);
    new.paths[0].up = false;
    node.reconfigure(now, vec![new.clone()], &mut device).unwrap();
    assert_eq!(send_many(&mut node, 1), [2]);
    let (_, path) = node.tunnels().paths().next().unwrap();
    assert!(path.down_reasons().contains(DownReason::Administrative));
    new.paths[0].up = true;
    node.reconfigure(now, vec![new], &mut device).unwrap();
    assert_eq!(send_many(&mut node, 1), [1, 2]);
}

#[test]
fn a_path_whose_interface_returns_gets_new_sockets() {
    let mut node = node(connection(paths(&[1, 1])));
    let (now, mut device) = (origin(), Device::default());
    let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
    node.set_path_state(now, ids[0], DownReason::Interface, true);
    node.set_path_sockets(origin(), ids[0], vec![], None).unwrap();
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    receive(&mut node, now, 1, &gre(0, &inner), &mut device).unwrap_err();

    node.set_path_sockets(origin(), ids[0], vec![SocketId(77)], Some(ip("198.51.100.7"))).unwrap();
    node.set_path_state(now, ids[0], DownReason::Interface, false);
    let remote = "192.0.2.1:4754".parse().unwrap();
    receive_from(&mut node, now, SocketId(77), remote, &gre(0, &inner), &mut device).unwrap();
    let mut shares = send_many(&mut node, 2);
    shares.sort_unstable();
    assert_eq!(shares, [1, 2]);

    // An address of the other IP version is refused, and nothing has changed.
    let mixed =
        node.set_path_sockets(origin(), ids[0], vec![], Some(ip("2001:db8::1"))).unwrap_err();
    let expected = ConfigError::MixedPath { connection: "main".into(), path: "path1".into() };
    assert_eq!(mixed, expected);
    assert_eq!(node.tunnels().path(ids[0]).unwrap().config().local, Some(ip("198.51.100.7")));

    // The other path's tuple is not to be had.
    let mut third = PathConfig { sockets: vec![SocketId(78)], ..path(3) };
    third.remote = at("192.0.2.1:4754");
    let (id, _) = node.tunnels().connections().next().unwrap();
    let third = node.add_path(now, id, third).unwrap();
    let taken = node.set_path_sockets(origin(), third, vec![SocketId(77)], None).unwrap_err();
    let expected =
        ConfigError::SameTuple { first: "main/path1".into(), second: "main/path3".into() };
    assert_eq!(taken, expected);
    assert_eq!(node.tunnels().path(third).unwrap().config().sockets, [SocketId(78)]);
    receive_from(&mut node, now, SocketId(78), remote, &gre(1, &inner), &mut device).unwrap();
}
