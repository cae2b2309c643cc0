//! A path that cannot carry inner packets of 1280 bytes is not used for IPv6, and the others are.

use mpt_core::path::reported::Reported;
use mpt_core::{ConnectionConfig, InnerDrop, Mapping, Node, Selector};

use crate::common::*;

/// IPv4 and IPv6 over two paths over IPv4.
fn both(mapping: Mapping) -> ConnectionConfig {
    let networks = ["10.1.0.0/16", "fd01::/64"].map(|net| net.parse().unwrap());
    ConnectionConfig {
        selectors: networks.map(Selector::to).to_vec(),
        sources: networks.to_vec(),
        mapping,
        ..connection(vec![path(1), path(2)])
    }
}

/// The numbers of the paths that get packets like this one.
fn paths_of(node: &mut Node<Packet>, packet: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    for _ in 0..20 {
        for transmit in send(node, packet).unwrap() {
            paths.push(node.tunnels().path(transmit.path).unwrap().name().to_owned());
        }
    }
    paths.sort();
    paths
}

#[test]
fn the_others_carry_it_with_their_own_mtu() {
    for mapping in [Mapping::Packet, Mapping::Flow, Mapping::Duplicate] {
        let mut node = node(both(mapping));
        let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
        let reported = &mut Reported::default();
        node.believe_path_mtu(origin(), reported, ids[0], 1300).unwrap();
        let v6 = udp("fd00::1", "fd01::1", 1, 2, &[0; 1400 - 48]);
        let used = paths_of(&mut node, &v6);
        assert_eq!((used.len(), used[0].as_str()), (20, "path2"), "{mapping:?}");
        // IPv4 goes over both, with the smaller MTU.
        let (_, tunnel) = node.tunnels().connections().next().unwrap();
        assert!(tunnel.inner_mtu() < 1280);
        assert!(tunnel.inner_mtu_ipv6().unwrap() > 1460);
        let v4 = udp("10.0.0.1", "10.1.0.1", 1, 2, &[0; 1000]);
        if mapping != Mapping::Flow {
            let used = paths_of(&mut node, &v4);
            assert_eq!(used.iter().filter(|name| *name == "path1").count(), used.len() / 2);
        }
        // The only path that carries IPv6 goes down, and returns.
        node.set_path_state(origin(), ids[1], mpt_core::DownReason::Dead, true);
        assert_eq!(send(&mut node, &v6), Err(InnerDrop::NoPath));
        node.set_path_state(origin(), ids[1], mpt_core::DownReason::Dead, false);
        assert_eq!(paths_of(&mut node, &v6).len(), 20);
        // The narrow path turns out to be wider.
        node.forget_path_mtu(reported, ids[0]).unwrap();
        let used = paths_of(&mut node, &v6);
        assert!(mapping == Mapping::Flow || used[0] == "path1", "{mapping:?}: {used:?}");
    }
}

#[test]
fn where_there_is_no_other_it_is_refused_at_once() {
    let mut node = node(both(Mapping::Packet));
    let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
    for id in ids {
        node.set_path_mtu(origin(), id, 576);
    }
    for len in [0, 1, 400, 1000, 1400] {
        let packet = udp("fd00::1", "fd01::1", 1, 2, &vec![0; len]);
        assert_eq!(send(&mut node, &packet), Err(InnerDrop::Ipv6MinimumMtu), "{len} bytes");
    }
    let (_, tunnel) = node.tunnels().connections().next().unwrap();
    assert_eq!((tunnel.inner_mtu_ipv6(), tunnel.inner_drops().ipv6_minimum_mtu), (None, 5));
    assert!(send(&mut node, &udp("10.0.0.1", "10.1.0.1", 1, 2, &[0; 400])).is_ok());
}

#[test]
fn syns_of_ipv6_are_clamped_to_its_own_mtu() {
    let mut node = node(both(Mapping::Packet));
    let (id, _) = node.tunnels().paths().next().unwrap();
    node.set_path_mtu(origin(), id, 800);
    for (source, destination, option, expected) in
        [("fd00::1", "fd01::1", 62, 1464 - 60), ("10.0.0.1", "10.1.0.1", 42, 800 - 36 - 40)]
    {
        let mut syn = tcp(source, destination, 2, &[2, 4, 0x05, 0xdc], &[]);
        let len = syn.len();
        node.handle_inner(origin(), DEVICE, super_packet(&mut syn, 1, len)).unwrap();
        let mss = u16::from_be_bytes([syn[option], syn[option + 1]]);
        assert_eq!(mss, expected, "{destination}");
    }
}
