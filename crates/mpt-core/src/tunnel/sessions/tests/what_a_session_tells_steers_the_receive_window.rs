//! A path found silent is no longer waited for, nor one that the peer announces not to use, and a
//! peer that begins anew is received from its first number on.

use super::common::*;
use crate::{ConnectionId, DownReason, Node, PathId};

const ID: ConnectionId = ConnectionId::first(0);
const PATHS: [PathId; 2] = [PathId::first(0), PathId::first(1)];

fn inner(number: u32) -> Vec<u8> {
    udp("10.1.0.1", "10.0.0.1", 1, 2, &number.to_be_bytes())
}

/// Numbers 0..20 over both paths in turn; then path 1 brings 22, and 20 and 21 are missing.
fn waiting(device: &mut Device) -> Node<Packet> {
    let mut node = node(connection(vec![path(1), path(2)]));
    for number in 0..20 {
        arrive(&mut node, 1 + (number % 2) as u8, number, device);
    }
    arrive(&mut node, 1, 22, device);
    assert_eq!(device.delivered.len(), 20);
    node
}

fn arrive(node: &mut Node<Packet>, path: u8, number: u32, device: &mut Device) {
    receive(node, origin(), path, &gre(number, &inner(number)), device).unwrap();
}

fn delivered_after(change: impl FnOnce(&mut Node<Packet>)) -> usize {
    let device = &mut Device::default();
    let mut node = waiting(device);
    change(&mut node);
    node.handle_timeout(origin(), device);
    device.delivered.len()
}

#[test]
fn a_silent_path_is_not_waited_for() {
    let now = origin();
    assert_eq!(delivered_after(|_| {}), 20);
    assert_eq!(delivered_after(|node| node.tunnels_mut().set_path_silent(now, PATHS[1], true)), 21);
    // That nothing is sent on it, for whatever reason, says nothing about what comes.
    for reason in [DownReason::Unproven, DownReason::Dead, DownReason::Peer] {
        assert_eq!(delivered_after(|it| it.set_path_state(now, PATHS[1], reason, true)), 20);
    }
}

#[test]
fn a_silent_path_has_changed_no_state() {
    let mut node = node(connection(vec![path(1), path(2)]));
    while node.poll_path_event().is_some() {}
    node.tunnels_mut().set_path_silent(origin(), PATHS[1], true);
    assert_eq!(node.poll_path_event(), None);
}

#[test]
fn a_path_announced_as_unused_is_not_waited_for() {
    let now = origin();
    assert_eq!(delivered_after(|node| node.tunnels_mut().announce(now, ID, 20, PATHS[1], 0)), 21);
    // Not even when it has been silent and is heard again, until the peer announces its use.
    let and_heard = |node: &mut Node<Packet>| {
        node.tunnels_mut().announce(now, ID, 20, PATHS[1], 0);
        node.tunnels_mut().set_path_silent(now, PATHS[1], true);
        node.tunnels_mut().set_path_silent(now, PATHS[1], false);
    };
    assert_eq!(delivered_after(and_heard), 21);
    let and_used = |node: &mut Node<Packet>| {
        and_heard(node);
        node.tunnels_mut().announce(now, ID, 20, PATHS[1], 1);
    };
    assert_eq!(delivered_after(and_used), 20);
}

#[test]
fn a_peer_that_begins_anew_is_received_in_order() {
    for first in [0, 1_000_000] {
        let device = &mut Device::default();
        let mut node = waiting(device);
        node.tunnels_mut().restart_receive(origin(), ID, first, device);
        assert_eq!(device.delivered.len(), 21, "what waited is delivered");
        for number in [1, 0, 2, 3] {
            arrive(&mut node, 1, first + number, device);
        }
        let last: Vec<Vec<u8>> = device.delivered[21..].iter().map(|it| it.to_vec()).collect();
        let expected: Vec<Vec<u8>> = (0..4).map(|number| inner(first + number)).collect();
        assert_eq!(last, expected);
    }
}
