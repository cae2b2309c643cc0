//! Routers beyond the peer answer from addresses that are in no configuration: traceroute and path
//! MTU discovery need what they say.

mod common;

use common::*;
use mpt_core::{DatagramDrop, Endpoint};

const ICMP: u8 = 1;

/// Time exceeded, quoting a packet.
fn time_exceeded(router: &str, quoted: &[u8]) -> Vec<u8> {
    let mut message = vec![11, 0, 0, 0, 0, 0, 0, 0];
    message.extend(&quoted[..28]);
    packet(router, "10.0.0.1", ICMP, &message)
}

fn arrive(inner: &[u8]) -> (Result<(), DatagramDrop>, Endpoint<Packet>) {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let result = receive(&mut endpoint, origin(), 1, &gre(0, inner), &mut Device::default());
    (result, endpoint)
}

#[test]
fn about_a_packet_into_the_connection() {
    let ours = udp("10.0.0.1", "10.1.0.1", 33_000, 33_434, &[0; 8]);
    let (result, endpoint) = arrive(&time_exceeded("172.16.0.1", &ours));
    assert_eq!(result, Ok(()));
    let (_, connection) = endpoint.connections().next().unwrap();
    assert_eq!(connection.remarks().icmp_from_outside, 1);
}

#[test]
fn not_about_others() {
    let other = udp("10.0.0.1", "8.8.8.8", 33_000, 33_434, &[0; 8]);
    let (result, endpoint) = arrive(&time_exceeded("172.16.0.1", &other));
    assert_eq!(result, Err(DatagramDrop::ForeignSource));
    let (_, connection) = endpoint.connections().next().unwrap();
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
    let mut endpoint = endpoint(connection_v6());
    let remote = "[2001:db8::2]:4754".parse().unwrap();
    for source in ["2001:db8:1::1", "fd01::9"] {
        let datagram = gre_plain(&packet(source, "fd00::1", 58, &message));
        let (socket, device) = (mpt_core::SocketId(1), &mut Device::default());
        receive_from(&mut endpoint, origin(), socket, remote, &datagram, device).unwrap();
    }
    let (_, connection) = endpoint.connections().next().unwrap();
    assert_eq!(connection.remarks().icmp_from_outside, 1);
}
