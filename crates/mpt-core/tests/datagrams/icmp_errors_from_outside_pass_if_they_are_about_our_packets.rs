//! Routers beyond the peer answer from addresses that are in no configuration: traceroute and path
//! MTU discovery need what they say.

use std::time::Duration;

use mpt_core::{DatagramDrop, Node};

use crate::common::*;

const ICMP: u8 = 1;

/// Time exceeded, quoting a packet.
fn time_exceeded(router: &str, quoted: &[u8]) -> Vec<u8> {
    let mut message = vec![11, 0, 0, 0, 0, 0, 0, 0];
    message.extend(&quoted[..28]);
    packet(router, "10.0.0.1", ICMP, &message)
}

fn arrive(inner: &[u8]) -> (Result<(), DatagramDrop>, Node<Packet>) {
    let mut node = node(connection(vec![path(1)]));
    let result = receive(&mut node, origin(), 1, &gre(0, inner), &mut Device::default());
    (result, node)
}

#[test]
fn about_a_packet_into_the_connection() {
    let ours = udp("10.0.0.1", "10.1.0.1", 33_000, 33_434, &[0; 8]);
    let (result, node) = arrive(&time_exceeded("172.16.0.1", &ours));
    assert_eq!(result, Ok(()));
    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.remarks().icmp_from_outside, 1);
}

#[test]
fn not_about_others() {
    let other = udp("10.0.0.1", "8.8.8.8", 33_000, 33_434, &[0; 8]);
    let (result, node) = arrive(&time_exceeded("172.16.0.1", &other));
    assert_eq!(result, Err(DatagramDrop::ForeignSource));
    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.remarks().icmp_from_outside, 0);
    assert_eq!(connection.datagram_drops().foreign_source, 1);
}

#[test]
fn not_without_a_complete_quotation() {
    let inner = packet("172.16.0.1", "10.0.0.1", ICMP, &[11, 0, 0, 0, 0, 0, 0, 0, 0x45, 0]);
    assert_eq!(arrive(&inner).0, Err(DatagramDrop::ForeignSource));
}

#[test]
fn not_an_echo() {
    let ours = udp("10.0.0.1", "10.1.0.1", 33_000, 33_434, &[0; 8]);
    let mut message = vec![8, 0, 0, 0, 0, 0, 0, 0];
    message.extend(&ours[..28]);
    let inner = packet("172.16.0.1", "10.0.0.1", ICMP, &message);
    assert_eq!(arrive(&inner).0, Err(DatagramDrop::ForeignSource));
}

#[test]
fn in_ipv6_too() {
    let quoted = udp("fd00::1", "fd01::1", 33_000, 33_434, &[0; 8]);
    let mut message = vec![3, 0, 0, 0, 0, 0, 0, 0];
    message.extend(&quoted);
    let mut node = node(connection_v6());
    let remote = "[2001:db8::2]:4754".parse().unwrap();
    for source in ["2001:db8:1::1", "fd01::9"] {
        let datagram = gre_plain(&packet(source, "fd00::1", 58, &message));
        let (socket, device) = (mpt_core::SocketId(1), &mut Device::default());
        receive_from(&mut node, origin(), socket, remote, &datagram, device).unwrap();
    }
    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.remarks().icmp_from_outside, 1);
}

/// An ICMPv4 message of this type with a crafted quote: the quoted packet as it stands.
fn icmp_v4(kind: u8, quoted: &[u8]) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0, 0, 0, 0, 0];
    message.extend(quoted);
    packet("172.16.0.1", "10.0.0.1", ICMP, &message)
}

fn icmp_v6(kind: u8, quoted: &[u8]) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0, 0, 0, 0, 0];
    message.extend(quoted);
    packet("2001:db8:1::1", "fd00::1", 58, &message)
}

fn arrive_v6(inner: &[u8]) -> Result<(), DatagramDrop> {
    let mut node = node(connection_v6());
    let remote = "[2001:db8::2]:4754".parse().unwrap();
    let (socket, device) = (mpt_core::SocketId(1), &mut Device::default());
    receive_from(&mut node, origin(), socket, remote, &gre_plain(inner), device)
}

#[test]
fn only_reports_of_a_packet_that_was_not_delivered_pass() {
    let ours = udp("10.0.0.1", "10.1.0.1", 33_000, 33_434, &[0; 8]);
    let ours_v6 = udp("fd00::1", "fd01::1", 33_000, 33_434, &[0; 8]);
    for kind in 0..=u8::MAX {
        let passes = matches!(kind, 3 | 11 | 12);
        assert_eq!(arrive(&icmp_v4(kind, &ours)).0.is_ok(), passes, "ICMPv4 type {kind}");
        let passes = matches!(kind, 1..=4);
        assert_eq!(arrive_v6(&icmp_v6(kind, &ours_v6)).is_ok(), passes, "ICMPv6 type {kind}");
    }
}

#[test]
fn the_quoted_packet_was_sent_by_whom_the_error_goes_to() {
    let of_another = udp("10.0.0.2", "10.1.0.1", 33_000, 33_434, &[0; 8]);
    assert_eq!(arrive(&icmp_v4(3, &of_another)).0, Err(DatagramDrop::ForeignSource));
    let of_another = udp("fd00::2", "fd01::1", 33_000, 33_434, &[0; 8]);
    assert_eq!(arrive_v6(&icmp_v6(1, &of_another)), Err(DatagramDrop::ForeignSource));
}

#[test]
fn no_error_is_longer_than_a_router_makes_it() {
    for (len, passes) in [(576, true), (577, false), (928, false), (1460, false)] {
        let quoted = udp("10.0.0.1", "10.1.0.1", 33_000, 33_434, &vec![0x55; len - 28 - 28]);
        let inner = icmp_v4(11, &quoted);
        assert_eq!(inner.len(), len);
        assert_eq!(arrive(&inner).0.is_ok(), passes, "{len} bytes of ICMPv4");
    }
    for (len, passes) in [(1280, true), (1281, false)] {
        let quoted = udp("fd00::1", "fd01::1", 33_000, 33_434, &vec![0x55; len - 48 - 48]);
        let inner = icmp_v6(3, &quoted);
        assert_eq!(inner.len(), len);
        assert_eq!(arrive_v6(&inner).is_ok(), passes, "{len} bytes of ICMPv6");
    }
}

#[test]
fn of_a_flood_as_many_arrive_as_a_traceroute_needs() {
    let mut node = node(connection(vec![path(1)]));
    let ours = udp("10.0.0.1", "10.1.0.1", 33_000, 33_434, &[0; 8]);
    let error = gre_plain(&time_exceeded("172.16.0.1", &ours));
    let genuine = gre_plain(&udp("10.1.0.1", "10.0.0.1", 5000, 5001, &[0; 8]));
    let (start, mut device) = (origin(), Device::default());
    // 10,000 in each of ten seconds.
    for step in 0..100_000 {
        let now = start + Duration::from_micros(100) * step;
        receive(&mut node, now, 1, &error, &mut device).unwrap();
    }
    let delivered = device.delivered.len();
    assert!((1000..=1101).contains(&delivered), "{delivered} errors reached the device");
    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.remarks().icmp_from_outside, delivered as u64);
    assert_eq!(connection.datagram_drops().icmp_limited, 100_000 - delivered as u64);
    // Other packets are not held back.
    let now = start + Duration::from_secs(10);
    receive(&mut node, now, 1, &genuine, &mut device).unwrap();
    assert_eq!(device.delivered.len(), delivered + 1);
    // Each ends in one counter.
    assert_eq!(received_total(&node), 100_001);
}
