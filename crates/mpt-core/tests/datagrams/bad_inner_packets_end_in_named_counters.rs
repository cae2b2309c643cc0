//! Whatever comes from a device: a named counter, never a panic, never a silent drop.

use mpt_core::{ConnectionConfig, DeviceId, Direction, InnerDrop};

use crate::common::*;

fn refused(config: ConnectionConfig, packet: &[u8], reason: InnerDrop, counter: &str) {
    let mut node = node(config);
    assert_eq!(send(&mut node, packet), Err(reason));
    let connections = node.tunnels().connections().map(|(_, connection)| connection.inner_drops());
    let all = connections.chain([node.tunnels().inner_drops()]).flat_map(|drops| drops.iter());
    let count: u64 = all.filter(|(name, _)| *name == counter).map(|(_, value)| value).sum();
    assert_eq!(count, 1, "{counter}");
    assert_eq!(sent_total(&node), 1);
}

#[test]
fn no_selector() {
    for packet in [udp("10.0.0.1", "10.2.0.1", 1, 2, &[]), udp("fd00::1", "fd01::1", 1, 2, &[])] {
        let config = connection(vec![path(1)]);
        refused(config, &packet, InnerDrop::NoConnection, "no_connection");
    }
}

#[test]
fn another_device() {
    let mut node = node(connection(vec![path(1)]));
    let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    let length = packet.len();
    let result = node.handle_inner(origin(), DeviceId(1), super_packet(&mut packet, 1, length));
    assert_eq!(result.unwrap_err(), InnerDrop::NoConnection);
}

#[test]
fn a_connection_that_only_receives() {
    let config = ConnectionConfig { direction: Direction::Receive, ..connection(vec![path(1)]) };
    let packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    refused(config, &packet, InnerDrop::Direction, "direction");
}

#[test]
fn one_byte_too_many() {
    let fits = udp("10.0.0.1", "10.1.0.1", 1, 2, &[0; 1464 - 28]);
    send(&mut node(connection(vec![path(1)])), &fits).unwrap();
    let larger = udp("10.0.0.1", "10.1.0.1", 1, 2, &[0; 1465 - 28]);
    let reason = InnerDrop::TooBig { mtu: 1464 };
    refused(connection(vec![path(1)]), &larger, reason, "too_big");
}

#[test]
fn ipv6_where_it_does_not_fit_any_more() {
    let config = connection_v6();
    let mut node = node(ConnectionConfig { mtu: Some(1280), ..config });
    let (id, _) = node.tunnels().paths().next().unwrap();
    node.set_path_mtu(origin(), id, 1280);
    let packet = udp("fd00::1", "fd01::1", 1, 2, &[0; 1225 - 48]);
    assert_eq!(send(&mut node, &packet), Err(InnerDrop::Ipv6MinimumMtu));
    // A smaller one neither: the first large one would be lost.
    let packet = udp("fd00::1", "fd01::1", 1, 2, &[0; 100]);
    assert_eq!(send(&mut node, &packet), Err(InnerDrop::Ipv6MinimumMtu));
    node.set_path_mtu(origin(), id, 1336);
    assert!(send(&mut node, &packet).is_ok());
}
