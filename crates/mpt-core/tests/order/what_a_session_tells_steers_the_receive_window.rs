//! A path found silent is no longer waited for, nor one that the peer announces not to use, and a
//! peer that begins anew is received from its first number on.

use mpt_core::{ConnectionId, DownReason, PathId, Tunnels};

use crate::common::*;

const ID: ConnectionId = ConnectionId(0);
const PATHS: [PathId; 2] = [PathId(0), PathId(1)];

fn inner(number: u32) -> Vec<u8> {
    udp("10.1.0.1", "10.0.0.1", 1, 2, &number.to_be_bytes())
}

/// Numbers 0..20 over both paths in turn; then path 1 brings 22, and 20 and 21 are missing.
fn waiting(device: &mut Device) -> Tunnels<Packet> {
    let mut endpoint = endpoint(connection(vec![path(1), path(2)]));
    for number in 0..20 {
        arrive(&mut endpoint, 1 + (number % 2) as u8, number, device);
    }
    arrive(&mut endpoint, 1, 22, device);
    assert_eq!(device.delivered.len(), 20);
    endpoint
}

fn arrive(endpoint: &mut Tunnels<Packet>, path: u8, number: u32, device: &mut Device) {
    receive(endpoint, origin(), path, &gre(number, &inner(number)), device).unwrap();
}

fn delivered_after(change: impl FnOnce(&mut Tunnels<Packet>)) -> usize {
    let device = &mut Device::default();
    let mut endpoint = waiting(device);
    change(&mut endpoint);
    endpoint.handle_timeout(origin(), device);
    device.delivered.len()
}

#[test]
fn a_silent_path_is_not_waited_for() {
    let now = origin();
    assert_eq!(delivered_after(|_| {}), 20);
    assert_eq!(delivered_after(|endpoint| endpoint.set_path_silent(now, PATHS[1], true)), 21);
    // That nothing is sent on it, for whatever reason, says nothing about what comes.
    for reason in [DownReason::Unproven, DownReason::Dead, DownReason::Peer] {
        assert_eq!(delivered_after(|it| it.set_path_down(now, PATHS[1], reason)), 20);
    }
}

#[test]
fn a_path_announced_as_unused_is_not_waited_for() {
    let now = origin();
    assert_eq!(delivered_after(|endpoint| endpoint.announce(now, ID, 20, PATHS[1], 0)), 21);
    // Not even when it has been silent and is heard again, until the peer announces its use.
    let and_heard = |endpoint: &mut Tunnels<Packet>| {
        endpoint.announce(now, ID, 20, PATHS[1], 0);
        endpoint.set_path_silent(now, PATHS[1], true);
        endpoint.set_path_silent(now, PATHS[1], false);
    };
    assert_eq!(delivered_after(and_heard), 21);
    let and_used = |endpoint: &mut Tunnels<Packet>| {
        and_heard(endpoint);
        endpoint.announce(now, ID, 20, PATHS[1], 1);
    };
    assert_eq!(delivered_after(and_used), 20);
}

#[test]
fn a_peer_that_begins_anew_is_received_in_order() {
    for first in [0, 1_000_000] {
        let device = &mut Device::default();
        let mut endpoint = waiting(device);
        endpoint.restart_receive(origin(), ID, first, device);
        assert_eq!(device.delivered.len(), 21, "what waited is delivered");
        for number in [1, 0, 2, 3] {
            arrive(&mut endpoint, 1, first + number, device);
        }
        let last: Vec<Vec<u8>> = device.delivered[21..].iter().map(|it| it.to_vec()).collect();
        let expected: Vec<Vec<u8>> = (0..4).map(|number| inner(first + number)).collect();
        assert_eq!(last, expected);
    }
}
