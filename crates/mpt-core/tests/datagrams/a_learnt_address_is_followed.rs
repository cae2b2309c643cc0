//! A path whose remote address is learnt receives and sends nothing until it is known, and only
//! where it is since.

use std::net::SocketAddr;

use mpt_core::{
    ConfigError, ConnectionId, DatagramDrop, Node, PathConfig, PathId, Remote, SocketId,
};
use mpt_wire::ip::Version;

use crate::common::*;

fn learning(n: u8) -> PathConfig {
    PathConfig { remote: Remote::Sought(Version::V4), ..path(n) }
}

fn inner() -> Vec<u8> {
    udp("10.1.0.1", "10.0.0.1", 1, 2, &[])
}

fn arrive(node: &mut Node<Packet>, socket: u32, remote: &str) -> Result<(), DatagramDrop> {
    let remote: SocketAddr = remote.parse().unwrap();
    let datagram = gre(0, &inner());
    receive_from(node, origin(), SocketId(socket), remote, &datagram, &mut Device::default())
}

const STRANGER: Result<(), DatagramDrop> = Err(DatagramDrop::UnknownSender);

#[test]
fn from_the_first_to_the_next() {
    let mut node = node(connection(vec![learning(1), path(2)]));
    let id = PathId::first(0);
    assert_eq!(node.tunnels().path(id).unwrap().remote(), None);
    assert_eq!(arrive(&mut node, 1, "0.0.0.0:0"), STRANGER);
    assert_eq!(arrive(&mut node, 1, "192.0.2.1:4754"), STRANGER);

    for (new, old) in [("192.0.2.1:4754", "192.0.2.1:1"), ("203.0.113.5:50000", "192.0.2.1:4754")] {
        node.set_path_remote(origin(), id, SocketId(1), new.parse().unwrap()).unwrap();
        assert_eq!(node.tunnels().path(id).unwrap().remote(), Some(new.parse().unwrap()));
        assert_eq!(arrive(&mut node, 1, new), Ok(()));
        assert_eq!(arrive(&mut node, 1, old), STRANGER);
    }
    // Its own packets, routed back into the tunnel, are known as such.
    let looped = udp("198.51.100.1", "203.0.113.5", 4754, 50_000, &[]);
    assert_eq!(send(&mut node, &looped), Err(mpt_core::InnerDrop::RoutingLoop));

    node.bar(ConnectionId::first(0));
    assert_eq!(arrive(&mut node, 1, "203.0.113.5:50000"), STRANGER);
    assert_eq!(node.tunnels().path(id).unwrap().remote(), None);
}

#[test]
fn it_may_come_to_another_socket() {
    let mut node = node(connection(vec![learning(1)]));
    let remote = "192.0.2.1:4754";
    node.set_path_remote(origin(), PathId::first(0), SocketId(7), remote.parse().unwrap()).unwrap();
    assert_eq!(arrive(&mut node, 7, remote), Ok(()));
}

#[test]
fn two_paths_never_have_the_same() {
    let second = PathConfig { sockets: vec![SocketId(1)], ..learning(2) };
    let mut node = node(connection(vec![learning(1), second]));
    let remote: SocketAddr = "192.0.2.1:4754".parse().unwrap();
    node.set_path_remote(origin(), PathId::first(0), SocketId(1), remote).unwrap();
    let error = node.set_path_remote(origin(), PathId::first(1), SocketId(1), remote).unwrap_err();
    assert!(matches!(error, ConfigError::SameTuple { .. }), "{error}");
    assert_eq!(node.tunnels().path(PathId::first(1)).unwrap().remote(), None);
    // Another port of the same address is another place, as two hosts behind one NAT have it.
    let other = "192.0.2.1:4755";
    node.set_path_remote(origin(), PathId::first(1), SocketId(1), other.parse().unwrap()).unwrap();
    assert_eq!(arrive(&mut node, 1, other), Ok(()));
    assert_eq!(arrive(&mut node, 1, "192.0.2.1:4754"), Ok(()));
}

#[test]
fn a_reload_does_not_forget_it() {
    let mut node = node(connection(vec![learning(1)]));
    let remote = "192.0.2.1:50000";
    node.set_path_remote(origin(), PathId::first(0), SocketId(1), remote.parse().unwrap()).unwrap();
    let same = connection(vec![PathConfig { weight_out: 5, ..learning(1) }]);
    node.reconfigure(origin(), vec![same], &mut Device::default()).unwrap();
    assert_eq!(node.tunnels().path(PathId::first(0)).unwrap().config().weight_out, 5);
    assert_eq!(arrive(&mut node, 1, remote), Ok(()));
}

#[test]
fn its_ip_version_decides_the_inner_mtu() {
    let mut node = node(connection(vec![PathConfig { local: None, ..learning(1) }]));
    let before = node.tunnels().inner_mtu(DEVICE);
    let remote = "[2001:db8::1]:4754".parse().unwrap();
    node.set_path_remote(origin(), PathId::first(0), SocketId(1), remote).unwrap();
    assert_eq!(node.tunnels().inner_mtu(DEVICE), before - 20);
}
