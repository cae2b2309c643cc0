//! The GRE key of a connection may be assigned while it runs.

use mpt_core::{ConfigError, ConnectionConfig, ConnectionId, DatagramDrop, Node, Selector};

use crate::common::*;

const ID: ConnectionId = ConnectionId::first(0);

#[test]
fn from_the_next_packet_on() {
    let mut node = node(connection(vec![path(1)]));
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    let device = &mut Device::default();
    let mtu = node.tunnels().inner_mtu(DEVICE);
    receive(&mut node, origin(), 1, &gre(0, &inner), device).unwrap();

    node.set_key(origin(), ID, Some(7)).unwrap();
    let old = receive(&mut node, origin(), 1, &gre(1, &inner), device);
    assert_eq!(old, Err(DatagramDrop::MissingKey));
    receive(&mut node, origin(), 1, &gre_key(7, 1, &inner), device).unwrap();
    let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    let length = packet.len();
    let outgoing =
        node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 1, length)).unwrap();
    assert_eq!(outgoing.header.key, Some(7));
    assert_eq!(node.tunnels().inner_mtu(DEVICE), mtu - 4);

    node.set_key(origin(), ID, None).unwrap();
    receive(&mut node, origin(), 1, &gre(2, &inner), device).unwrap();
    assert_eq!(node.tunnels().inner_mtu(DEVICE), mtu);
    assert_eq!(device.delivered.len(), 3);
}

#[test]
fn not_to_one_that_is_taken() {
    let mut node: Node<Packet> = node(connection(vec![path(1)]));
    let second = ConnectionConfig {
        name: "second".into(),
        key: Some(7),
        selectors: vec![Selector::to("10.2.0.0/16".parse().unwrap())],
        ..connection(vec![path(1)])
    };
    node.add_connection(origin(), second).unwrap();
    let error = node.set_key(origin(), ID, Some(7)).unwrap_err();
    assert!(matches!(error, ConfigError::SameTuple { .. }), "{error}");
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    let device = &mut Device::default();
    receive(&mut node, origin(), 1, &gre(0, &inner), device).unwrap();
    assert_eq!(node.set_key(origin(), ConnectionId::first(9), None), Err(ConfigError::Gone));
}
