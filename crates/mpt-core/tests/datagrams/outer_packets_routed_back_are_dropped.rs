//! A route to the peer's outer address through the tunnel must not make packets go round in it.

use mpt_core::{ConnectionConfig, InnerDrop, Node, PathConfig, Selector};

use crate::common::*;

fn everything() -> Node<Packet> {
    let selectors = vec![Selector::to("0.0.0.0/0".parse().unwrap())];
    let unknown_local = PathConfig { local: None, remote: at("192.0.2.2:5000"), ..path(2) };
    let paths = vec![path(1), unknown_local];
    node(ConnectionConfig { selectors, ..connection(paths) })
}

#[test]
fn our_own_outer_packets() {
    let mut node = everything();
    for own in [
        udp("198.51.100.1", "192.0.2.1", 50_000, PORT, &[]),
        udp("198.51.100.1", "192.0.2.2", 50_000, 5000, &[]),
        udp("203.0.113.9", "192.0.2.2", 50_000, 5000, &[]),
    ] {
        assert_eq!(send(&mut node, &own), Err(InnerDrop::RoutingLoop));
    }
    assert_eq!(node.tunnels().inner_drops().routing_loop, 3);
    assert_eq!(sent_total(&node), 3);
}

#[test]
fn others_that_look_like_them_pass() {
    let mut node = everything();
    for other in [
        udp("198.51.100.2", "192.0.2.1", 50_000, PORT, &[]),
        udp("198.51.100.1", "192.0.2.1", PORT, 50_000, &[]),
        udp("198.51.100.1", "192.0.2.1", 50_000, 5000, &[]),
        udp("198.51.100.1", "192.0.2.3", 50_000, PORT, &[]),
        tcp("198.51.100.1", "192.0.2.1", 2, &[], &[]),
        packet("198.51.100.1", "192.0.2.1", 1, &[8, 0, 0xf7, 0xff, 0, 0, 0, 0]),
    ] {
        send(&mut node, &other).unwrap();
    }
}

#[test]
fn a_path_that_is_removed_is_no_longer_ours() {
    let mut node = everything();
    let packet = udp("198.51.100.1", "192.0.2.1", 50_000, PORT, &[]);
    assert_eq!(send(&mut node, &packet), Err(InnerDrop::RoutingLoop));
    let (id, _) = node.tunnels().paths().next().unwrap();
    node.remove_path(origin(), id);
    send(&mut node, &packet).unwrap();
}
