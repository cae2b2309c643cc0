//! Packets that wake the probes of a connection that was idle.

use super::common::*;
use crate::{ConnectionId, DownReason, InnerDrop, Tunnels};

const ID: ConnectionId = ConnectionId::first(0);

/// Hands in a packet, and leaves it to the caller to ask who was woken.
fn give(tunnels: &mut Tunnels<Packet>, packet: &[u8]) -> Result<(), InnerDrop> {
    let (mut packet, largest) = (packet.to_vec(), packet.len());
    tunnels.send(origin(), DEVICE, super_packet(&mut packet, 1, largest)).map(drop)
}

fn ours() -> Vec<u8> {
    udp("10.0.0.1", "10.1.0.1", 1, 2, &[])
}

#[test]
fn once() {
    let mut node = node(connection(vec![path(1)]));
    let tunnels = node.tunnels_mut();
    give(tunnels, &ours()).unwrap();
    assert_eq!(tunnels.take_woken(), None);

    tunnels.set_quiet(ID);
    assert_eq!(tunnels.take_woken(), None);
    for _ in 0..3 {
        give(tunnels, &ours()).unwrap();
    }
    assert_eq!(tunnels.take_woken(), Some(ID));
    assert_eq!(tunnels.take_woken(), None);
    give(tunnels, &ours()).unwrap();
    assert_eq!(tunnels.take_woken(), None);
}

/// They are what may bring a path back.
#[test]
fn also_while_every_path_is_down() {
    let mut node = node(connection(vec![path(1)]));
    let (path, _) = node.tunnels().paths().next().unwrap();
    node.set_path_state(origin(), path, DownReason::Dead, true);
    let tunnels = node.tunnels_mut();
    tunnels.set_quiet(ID);
    assert_eq!(give(tunnels, &ours()), Err(InnerDrop::NoPath));
    assert_eq!(tunnels.take_woken(), Some(ID));
}

#[test]
fn not_for_packets_of_others() {
    let mut node = node(connection(vec![path(1)]));
    let tunnels = node.tunnels_mut();
    tunnels.set_quiet(ID);
    let stranger = udp("10.0.0.1", "10.9.0.1", 1, 2, &[]);
    assert_eq!(give(tunnels, &stranger), Err(InnerDrop::NoConnection));
    assert_eq!(tunnels.take_woken(), None);
}
