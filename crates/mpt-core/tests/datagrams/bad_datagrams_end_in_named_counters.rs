//! Whatever comes from the network: a named counter, never a panic, never a silent drop.

use std::net::SocketAddr;

use mpt_core::{ConnectionConfig, DatagramDrop, Direction, DownReason, Node, SocketId};
use mpt_wire::ecn::Ecn;

use crate::common::*;

/// Hands in a datagram and expects this reason, in its counter and in no other.
fn refused(datagram: &[u8], reason: DatagramDrop, counter: &str) {
    refused_by(connection(vec![path(1)]), datagram, reason, counter);
}

fn refused_by(config: ConnectionConfig, datagram: &[u8], reason: DatagramDrop, counter: &str) {
    let mut node = node(config);
    let mut device = Device::default();
    let result = receive(&mut node, origin(), 1, datagram, &mut device);
    assert_eq!(result, Err(reason));
    assert_eq!(count(&node, counter), 1, "{counter}");
    assert_eq!(received_total(&node), 1);
    assert!(device.delivered.is_empty());
}

/// A drop counter, over the node and its connections.
fn count(node: &Node<Packet>, counter: &str) -> u64 {
    let connections =
        node.tunnels().connections().map(|(_, connection)| connection.datagram_drops());
    let all = connections.chain([node.tunnels().datagram_drops()]);
    all.flat_map(|drops| drops.iter()).filter(|(name, _)| *name == counter).map(|it| it.1).sum()
}

fn inner() -> Vec<u8> {
    udp("10.1.0.1", "10.0.0.1", 1, 2, b"data")
}

#[test]
fn truncated() {
    let whole = gre(0, &inner());
    for length in 0..8 {
        refused(&whole[..length], DatagramDrop::Truncated, "truncated");
    }
    for length in 8..whole.len() {
        refused(&whole[..length], DatagramDrop::Malformed, "malformed");
    }
}

#[test]
fn reserved_bits_and_versions() {
    for bit in [0x40, 0x08, 0x04] {
        let mut datagram = gre_plain(&inner());
        datagram[0] |= bit;
        refused(&datagram, DatagramDrop::ReservedFlags, "reserved_flags");
    }
    for version in 1..8 {
        let mut datagram = gre_plain(&inner());
        datagram[1] = version;
        refused(&datagram, DatagramDrop::Version, "version");
    }
}

#[test]
fn a_wrong_checksum() {
    let mut datagram = vec![0x80, 0, 8, 0, 0x12, 0x34, 0, 0];
    datagram.extend(inner());
    refused(&datagram, DatagramDrop::Checksum, "checksum");
}

#[test]
fn protocol_types() {
    for (protocol, reason, counter) in [
        ([0x88, 0xb5], DatagramDrop::Control, "control"),
        ([0x65, 0x58], DatagramDrop::UnknownProtocol, "unknown_protocol"),
        ([0, 0], DatagramDrop::UnknownProtocol, "unknown_protocol"),
        ([0x86, 0xdd], DatagramDrop::InnerVersion, "inner_version"),
    ] {
        let mut datagram = gre_plain(&inner());
        datagram[2..4].copy_from_slice(&protocol);
        refused(&datagram, reason, counter);
    }
    let mut datagram = gre_plain(&udp("fd01::1", "fd00::1", 1, 2, &[]));
    datagram[2..4].copy_from_slice(&[0x08, 0x00]);
    refused(&datagram, DatagramDrop::InnerVersion, "inner_version");
    refused(&gre(0, &[0x75; 40]), DatagramDrop::Malformed, "malformed");
}

#[test]
fn inner_packets_from_foreign_addresses() {
    for source in ["10.0.0.1", "10.2.0.1", "8.8.8.8"] {
        let datagram = gre(0, &udp(source, "10.0.0.1", 1, 2, &[]));
        refused(&datagram, DatagramDrop::ForeignSource, "foreign_source");
    }
    let datagram = gre(0, &udp("fd01::1", "fd00::1", 1, 2, &[]));
    refused(&datagram, DatagramDrop::ForeignSource, "foreign_source");
}

#[test]
fn multicast_and_link_local_where_it_is_not_wanted() {
    for (source, destination) in [
        ("10.1.0.1", "224.0.0.5"),
        ("10.1.0.1", "255.255.255.255"),
        ("169.254.0.1", "10.0.0.1"),
        ("fe80::1", "ff02::1"),
    ] {
        let datagram = gre(0, &udp(source, destination, 1, 2, &[]));
        refused(&datagram, DatagramDrop::Multicast, "multicast");
    }
}

#[test]
fn a_connection_that_only_sends() {
    let config = ConnectionConfig { direction: Direction::Send, ..connection(vec![path(1)]) };
    refused_by(config, &gre(0, &inner()), DatagramDrop::Direction, "direction");
}

#[test]
fn congestion_marked_on_a_packet_that_cannot_carry_it() {
    let mut node = node(connection(vec![path(1)]));
    let remote = SocketAddr::new(ip("192.0.2.1"), PORT);
    let mut device = Device::default();
    for (tos, expected) in [(0, Err(DatagramDrop::Ecn)), (0b10, Ok(())), (0b01, Ok(()))] {
        let mut inner = inner();
        inner[1] = tos;
        fill_ipv4_checksum(&mut inner);
        let from = (origin(), SocketId(1), remote);
        let result = receive_marked(&mut node, from, Ecn::Ce, &gre_plain(&inner), &mut device);
        assert_eq!(result, expected);
        if expected.is_ok() {
            let inner = device.delivered.pop().unwrap();
            assert_eq!(inner[1], 0b11, "marked on the inner packet");
            let mut filled = inner.to_vec();
            fill_ipv4_checksum(&mut filled);
            assert_eq!(filled, inner, "with a right header checksum");
        }
    }
    assert_eq!(count(&node, "ecn"), 1);
}

#[test]
fn the_largest_datagram_is_an_ordinary_one() {
    let mut node = node(connection(vec![path(1)]));
    let mut device = Device::default();
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &vec![0; 65_507 - 8 - 28]);
    let datagram = gre(0, &inner);
    assert_eq!(datagram.len(), 65_507);
    receive(&mut node, origin(), 1, &datagram, &mut device).unwrap();
    assert_eq!(device.delivered, [inner]);
}

#[test]
fn what_follows_the_inner_packet_is_cut_off() {
    let mut node = node(connection(vec![path(1)]));
    let mut device = Device::default();
    let mut datagram = gre(0, &inner());
    datagram.extend([0xff; 9]);
    receive(&mut node, origin(), 1, &datagram, &mut device).unwrap();
    assert_eq!(device.delivered, [inner()]);
}

#[test]
fn packets_for_a_path_that_is_down_are_accepted_and_counted() {
    let mut node = node(connection(vec![path(1), path(2)]));
    let mut device = Device::default();
    let (id, _) = node.tunnels().paths().next().unwrap();
    node.set_path_state(origin(), id, DownReason::Administrative, true);
    receive(&mut node, origin(), 1, &gre(0, &inner()), &mut device).unwrap();
    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.remarks().path_down, 1);
    assert_eq!(device.delivered.len(), 1);
    assert_eq!(received_total(&node), 1);
}
