//! Inner MTU, MSS clamping, and path MTUs that change at run time.

mod common;

use std::ops::Range;

use common::*;
use mpt_core::{ConnectionConfig, PathConfig, SocketId};
use mpt_wire::ecn::Ecn;

#[test]
fn the_smallest_path_decides() {
    let ipv6 = PathConfig { local: None, remote: ip("2001:db8::1"), ..path(2) };
    let mut endpoint = endpoint(connection(vec![path(1), ipv6]));
    assert_eq!(endpoint.inner_mtu(DEVICE), 1444);
    let ids: Vec<_> = endpoint.paths().map(|(id, _)| id).collect();
    // A PPPoE line.
    assert_eq!(endpoint.set_path_mtu(ids[0], 1492), None, "the other is still smaller");
    assert_eq!(endpoint.set_path_mtu(ids[1], 1492), Some((DEVICE, 1436)));
    assert_eq!(endpoint.inner_mtu(DEVICE), 1436);
    endpoint.remove_path(origin(), ids[1]);
    assert_eq!(endpoint.inner_mtu(DEVICE), 1456);
    // Nobody has links that small; what says so is not believed.
    assert_eq!(endpoint.set_path_mtu(ids[0], 68), Some((DEVICE, 576 - 36)));
}

#[test]
fn a_limit_in_the_configuration_holds() {
    let config = ConnectionConfig { mtu: Some(1400), ..connection(vec![path(1)]) };
    let mut endpoint = endpoint(config);
    assert_eq!(endpoint.inner_mtu(DEVICE), 1400);
    let (id, _) = endpoint.paths().next().unwrap();
    assert_eq!(endpoint.set_path_mtu(id, 1480), None);
    assert_eq!(endpoint.set_path_mtu(id, 1400), Some((DEVICE, 1364)));
}

#[test]
fn the_smallest_connection_of_a_device_decides() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let other = ConnectionConfig { mtu: Some(1300), ..connection_v6() };
    endpoint.add_connection(origin(), ConnectionConfig { name: "v6".into(), ..other }).unwrap();
    assert_eq!(endpoint.inner_mtu(DEVICE), 1300);
    assert_eq!(endpoint.inner_mtu(mpt_core::DeviceId(1)), u16::MAX, "no connection, no limit");
}

#[test]
fn the_mss_of_syns_is_clamped_both_ways() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let mss = |packet: &[u8]| u16::from_be_bytes([packet[42], packet[43]]);
    let options = [2, 4, 0x05, 0xb4];
    let expected = 1464 - 40;

    let mut syn = tcp("10.0.0.1", "10.1.0.1", 2, &options, &[]);
    let length = syn.len();
    endpoint.handle_inner(DEVICE, &mut syn, Complete, 1, length).unwrap();
    assert_eq!(mss(&syn), expected);

    let mut datagram = gre(0, &tcp("10.1.0.1", "10.0.0.1", 0x12, &options, &[]));
    let remote = "192.0.2.1:4754".parse().unwrap();
    let mut inner = 0..0;
    let keep = |range: Range<usize>| {
        inner = range;
        &[][..]
    };
    let (now, device) = (origin(), &mut Device::default());
    endpoint
        .handle_datagram(now, SocketId(1), remote, Ecn::NotEct, &mut datagram, keep, device)
        .unwrap();
    assert_eq!(mss(&datagram[inner]), expected);
    let (_, connection) = endpoint.connections().next().unwrap();
    assert_eq!(connection.remarks().mss_clamped, 2);
}
