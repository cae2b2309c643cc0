//! Multicast, broadcast and link-local packets: on the connection with `multicast = true`, for
//! routing protocols.

use mpt_core::{ConfigError, ConnectionConfig, ConnectionId, InnerDrop, Node, Selector};

use crate::common::*;

fn two() -> Node<Packet> {
    let mut node = Node::new([0; 32]);
    let everything = vec![Selector::to("0.0.0.0/0".parse().unwrap())];
    let plain = ConnectionConfig { selectors: everything, ..connection(vec![path(1)]) };
    let multicast = ConnectionConfig {
        name: "routing".into(),
        multicast: true,
        selectors: vec![],
        ..connection(vec![path(2)])
    };
    node.add_connection(origin(), plain).unwrap();
    node.add_connection(origin(), multicast).unwrap();
    node
}

fn hello() -> [Vec<u8>; 4] {
    [
        packet("10.0.0.1", "224.0.0.5", 89, &[2, 1, 0, 44]),
        packet("fe80::1", "ff02::5", 89, &[3, 1, 0, 36]),
        udp("10.0.0.1", "255.255.255.255", 520, 520, &[]),
        packet("fe80::1", "fe80::2", 89, &[3, 2, 0, 28]),
    ]
}

#[test]
fn from_the_device() {
    let mut node = two();
    for mut packet in hello() {
        let length = packet.len();
        let outgoing =
            node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 1, length)).unwrap();
        assert_eq!(outgoing.connection, ConnectionId::first(1));
    }
    let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    let length = packet.len();
    let outgoing =
        node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 1, length)).unwrap();
    assert_eq!(outgoing.connection, ConnectionId::first(0));
}

#[test]
fn without_such_a_connection_it_is_a_quiet_counter() {
    let mut node = two();
    node.remove_connection(origin(), ConnectionId::first(1), &mut Device::default());
    for packet in hello() {
        assert_eq!(send(&mut node, &packet), Err(InnerDrop::Multicast));
    }
    assert_eq!(node.tunnels().inner_drops().multicast, 4);
}

#[test]
fn from_the_network() {
    let mut node = two();
    let mut device = Device::default();
    let now = origin();
    let from_peer = [
        packet("10.1.0.1", "224.0.0.5", 89, &[2, 1, 0, 44]),
        packet("fe80::2", "ff02::5", 89, &[3, 1, 0, 36]),
        packet("::", "ff02::16", 58, &[143, 0, 0, 0]),
    ];
    for packet in &from_peer {
        receive(&mut node, now, 2, &gre_plain(packet), &mut device).unwrap();
        receive(&mut node, now, 1, &gre_plain(packet), &mut device).unwrap_err();
    }
    assert_eq!(device.delivered, from_peer);
    let foreign = packet("172.16.0.1", "224.0.0.5", 89, &[2, 1, 0, 44]);
    let result = receive(&mut node, now, 2, &gre_plain(&foreign), &mut device);
    assert_eq!(result, Err(mpt_core::DatagramDrop::ForeignSource));
}

#[test]
fn a_device_has_one_such_connection() {
    let mut node = two();
    let third = ConnectionConfig {
        name: "third".into(),
        multicast: true,
        selectors: vec![],
        ..connection(vec![path(3)])
    };
    let refused = node.add_connection(origin(), third.clone());
    let expected = ConfigError::TwoMulticast { first: "routing".into(), second: "third".into() };
    assert_eq!(refused, Err(expected));
    let other_device = ConnectionConfig { device: mpt_core::DeviceId(1), ..third };
    node.add_connection(origin(), other_device).unwrap();
}
