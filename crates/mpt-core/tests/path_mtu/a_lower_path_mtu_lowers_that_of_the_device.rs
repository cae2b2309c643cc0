//! Inner MTU, MSS clamping, and path MTUs that change at run time.

use std::ops::Range;

use mpt_core::{ConnectionConfig, PathConfig, SocketId};
use mpt_wire::ecn::Ecn;

use crate::common::*;

#[test]
fn the_smallest_path_decides() {
    let ipv6 = PathConfig { local: None, remote: at("[2001:db8::1]:4754"), ..path(2) };
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
fn a_connection_that_somebody_else_asked_for_does_not() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let guest = ConnectionConfig {
        name: "guest".into(),
        limits_device: false,
        mtu: Some(576),
        ..connection_v6()
    };
    // It carries IPv4 here.
    let selectors = vec![mpt_core::Selector::to("10.2.0.0/16".parse().unwrap())];
    let sources = vec!["10.2.0.0/16".parse().unwrap()];
    let guest = ConnectionConfig { selectors, sources, ..guest };
    endpoint.add_connection(origin(), guest).unwrap();
    assert_eq!(endpoint.inner_mtu(DEVICE), 1464);
    // Only its own packets are too large.
    let other = udp("10.0.0.1", "10.1.0.1", 1, 2, &[0; 1464 - 28]);
    assert!(send(&mut endpoint, &other).is_ok());
    let own = udp("10.0.0.1", "10.2.0.1", 1, 2, &[0; 577 - 28]);
    assert_eq!(send(&mut endpoint, &own), Err(mpt_core::InnerDrop::TooBig { mtu: 576 }));
    // Nor if its paths turn out to be small.
    let ids: Vec<_> = endpoint.paths().map(|(id, _)| id).collect();
    assert_eq!(endpoint.limit_path_mtu(ids[1], Some(1280)), None);
    assert_eq!(endpoint.limit_path_mtu(ids[0], Some(1400)), Some((DEVICE, 1364)));
    assert_eq!(endpoint.limit_path_mtu(ids[0], None), Some((DEVICE, 1464)));
}

#[test]
fn what_is_known_of_a_path_counts_below_the_mtu_of_its_link() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let (id, _) = endpoint.paths().next().unwrap();
    assert_eq!(endpoint.limit_path_mtu(id, Some(9000)), None);
    assert_eq!(endpoint.limit_path_mtu(id, Some(1400)), Some((DEVICE, 1364)));
    assert_eq!(endpoint.set_path_mtu(id, 1300), Some((DEVICE, 1264)));
    assert_eq!(endpoint.set_path_mtu(id, 1500), Some((DEVICE, 1364)));
    assert_eq!(endpoint.limit_path_mtu(id, Some(1)), Some((DEVICE, 576 - 36)));
    assert_eq!(endpoint.path(id).unwrap().mtu(), 576);
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
