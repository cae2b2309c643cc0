//! Whatever comes from a device: a named counter, never a panic, never a silent drop.

use mpt_core::{ConnectionConfig, DeviceId, Direction, InnerDrop};

use crate::common::*;

fn refused(config: ConnectionConfig, packet: &[u8], reason: InnerDrop, counter: &str) {
    let mut endpoint = endpoint(config);
    assert_eq!(send(&mut endpoint, packet), Err(reason));
    let connections = endpoint.connections().map(|(_, connection)| connection.inner_drops());
    let all = connections.chain([endpoint.inner_drops()]).flat_map(|drops| drops.iter());
    let count: u64 = all.filter(|(name, _)| *name == counter).map(|(_, value)| value).sum();
    assert_eq!(count, 1, "{counter}");
    assert_eq!(sent_total(&endpoint), 1);
}

#[test]
fn no_ip_packet() {
    let whole = udp("10.0.0.1", "10.1.0.1", 1, 2, &[0; 8]);
    for length in 0..whole.len() {
        let config = connection(vec![path(1)]);
        refused(config, &whole[..length], InnerDrop::Malformed, "malformed");
    }
    for version in [0x05, 0x75, 0xf5] {
        let mut packet = whole.clone();
        packet[0] = version;
        refused(connection(vec![path(1)]), &packet, InnerDrop::Malformed, "malformed");
    }
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
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    let length = packet.len();
    let result = endpoint.handle_inner(DeviceId(1), &mut packet, Complete, 1, length);
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
    send(&mut endpoint(connection(vec![path(1)])), &fits).unwrap();
    let larger = udp("10.0.0.1", "10.1.0.1", 1, 2, &[0; 1465 - 28]);
    let reason = InnerDrop::TooBig { mtu: 1464 };
    refused(connection(vec![path(1)]), &larger, reason, "too_big");
}

#[test]
fn ipv6_where_it_does_not_fit_any_more() {
    let config = connection_v6();
    let mut endpoint = endpoint(ConnectionConfig { mtu: Some(1280), ..config });
    let (id, _) = endpoint.paths().next().unwrap();
    endpoint.set_path_mtu(id, 1280);
    let packet = udp("fd00::1", "fd01::1", 1, 2, &[0; 1225 - 48]);
    assert_eq!(send(&mut endpoint, &packet), Err(InnerDrop::Ipv6MinimumMtu));
    // A smaller one neither: the first large one would be lost.
    let packet = udp("fd00::1", "fd01::1", 1, 2, &[0; 100]);
    assert_eq!(send(&mut endpoint, &packet), Err(InnerDrop::Ipv6MinimumMtu));
    endpoint.set_path_mtu(id, 1336);
    assert!(send(&mut endpoint, &packet).is_ok());
}
