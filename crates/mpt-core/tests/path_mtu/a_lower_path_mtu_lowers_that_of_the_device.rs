//! Inner MTU, MSS clamping, and path MTUs that change at run time.

use mpt_core::path::reported::{Change, Reported};
use mpt_core::{ConnectionConfig, PathConfig};

use crate::common::*;

#[test]
fn the_smallest_path_decides() {
    let ipv6 = PathConfig { local: None, remote: at("[2001:db8::1]:4754"), ..path(2) };
    let mut node = node(connection(vec![path(1), ipv6]));
    assert_eq!(node.tunnels().inner_mtu(DEVICE), 1444);
    let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
    // A PPPoE line.
    assert_eq!(node.set_path_mtu(origin(), ids[0], 1492), None, "the other is still smaller");
    assert_eq!(node.set_path_mtu(origin(), ids[1], 1492), Some((DEVICE, 1436)));
    assert_eq!(node.tunnels().inner_mtu(DEVICE), 1436);
    node.remove_path(origin(), ids[1]);
    assert_eq!(node.tunnels().inner_mtu(DEVICE), 1456);
    // Nobody has links that small; what says so is not believed.
    assert_eq!(node.set_path_mtu(origin(), ids[0], 68), Some((DEVICE, 576 - 36)));
}

#[test]
fn a_limit_in_the_configuration_holds() {
    let config = ConnectionConfig { mtu: Some(1400), ..connection(vec![path(1)]) };
    let mut node = node(config);
    assert_eq!(node.tunnels().inner_mtu(DEVICE), 1400);
    let (id, _) = node.tunnels().paths().next().unwrap();
    assert_eq!(node.set_path_mtu(origin(), id, 1480), None);
    assert_eq!(node.set_path_mtu(origin(), id, 1400), Some((DEVICE, 1364)));
}

#[test]
fn the_smallest_connection_of_a_device_decides() {
    let mut node = node(connection(vec![path(1)]));
    let other = ConnectionConfig { mtu: Some(1300), ..connection_v6() };
    node.add_connection(origin(), ConnectionConfig { name: "v6".into(), ..other }).unwrap();
    assert_eq!(node.tunnels().inner_mtu(DEVICE), 1300);
    assert_eq!(
        node.tunnels().inner_mtu(mpt_core::DeviceId(1)),
        u16::MAX,
        "no connection, no limit"
    );
}

#[test]
fn a_connection_that_somebody_else_asked_for_does_not() {
    let mut node = node(connection(vec![path(1)]));
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
    node.add_connection(origin(), guest).unwrap();
    assert_eq!(node.tunnels().inner_mtu(DEVICE), 1464);
    // Only its own packets are too large.
    let other = udp("10.0.0.1", "10.1.0.1", 1, 2, &[0; 1464 - 28]);
    assert!(send(&mut node, &other).is_ok());
    let own = udp("10.0.0.1", "10.2.0.1", 1, 2, &[0; 577 - 28]);
    assert_eq!(send(&mut node, &own), Err(mpt_core::InnerDrop::TooBig { mtu: 576 }));
    // Nor if its paths turn out to be small.
    let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
    let mut reported = [Reported::default(); 2];
    let lowered = node.believe_path_mtu(origin(), &mut reported[1], ids[1], 1280);
    assert_eq!(lowered, Some(Change { before: 1500, device: None }));
    let lowered = node.believe_path_mtu(origin(), &mut reported[0], ids[0], 1400);
    assert_eq!(lowered, Some(Change { before: 1500, device: Some((DEVICE, 1364)) }));
    let raised = node.forget_path_mtu(&mut reported[0], ids[0]);
    assert_eq!(raised, Some(Change { before: 1400, device: Some((DEVICE, 1464)) }));
}

#[test]
fn what_is_known_of_a_path_counts_below_the_mtu_of_its_link() {
    let mut node = node(connection(vec![path(1)]));
    let (id, _) = node.tunnels().paths().next().unwrap();
    let reported = &mut Reported::default();
    assert_eq!(node.believe_path_mtu(origin(), reported, id, 9000), None);
    let lowered = node.believe_path_mtu(origin(), reported, id, 1400);
    assert_eq!(lowered, Some(Change { before: 1500, device: Some((DEVICE, 1364)) }));
    assert_eq!(node.set_path_mtu(origin(), id, 1300), Some((DEVICE, 1264)));
    assert_eq!(node.set_path_mtu(origin(), id, 1500), Some((DEVICE, 1364)));
    assert_eq!(node.believe_path_mtu(origin(), reported, id, 575), None, "no link is that small");
    assert_eq!(node.tunnels().path(id).unwrap().mtu(), 1400);
}

#[test]
fn the_mss_of_syns_is_clamped_both_ways() {
    let mut node = node(connection(vec![path(1)]));
    let mss = |packet: &[u8]| u16::from_be_bytes([packet[42], packet[43]]);
    let options = [2, 4, 0x05, 0xb4];
    let expected = 1464 - 40;

    let mut syn = tcp("10.0.0.1", "10.1.0.1", 2, &options, &[]);
    let length = syn.len();
    node.handle_inner(origin(), DEVICE, super_packet(&mut syn, 1, length)).unwrap();
    assert_eq!(mss(&syn), expected);

    let datagram = gre(0, &tcp("10.1.0.1", "10.0.0.1", 0x12, &options, &[]));
    let device = &mut Device::default();
    receive(&mut node, origin(), 1, &datagram, device).unwrap();
    assert_eq!(mss(device.delivered[0]), expected);
    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.remarks().mss_clamped, 2);
}
