//! Packets that wake the probes of a connection that was idle.

use mpt_core::{ConnectionId, DownReason, InnerDrop};

use crate::common::*;

#[test]
fn once() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let id = ConnectionId(0);
    let packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    send(&mut endpoint, &packet).unwrap();
    assert_eq!(endpoint.take_woken(), None);

    endpoint.set_quiet(id);
    assert_eq!(endpoint.take_woken(), None);
    send_many(&mut endpoint, 3);
    assert_eq!(endpoint.take_woken(), Some(id));
    assert_eq!(endpoint.take_woken(), None);
    send(&mut endpoint, &packet).unwrap();
    assert_eq!(endpoint.take_woken(), None);
}

/// They are what may bring a path back.
#[test]
fn also_while_every_path_is_down() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let (path, _) = endpoint.paths().next().unwrap();
    endpoint.set_path_down(origin(), path, DownReason::Dead);
    endpoint.set_quiet(ConnectionId(0));
    let packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    assert_eq!(send(&mut endpoint, &packet), Err(InnerDrop::NoPath));
    assert_eq!(endpoint.take_woken(), Some(ConnectionId(0)));
}

#[test]
fn not_for_packets_of_others() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    endpoint.set_quiet(ConnectionId(0));
    let stranger = udp("10.0.0.1", "10.9.0.1", 1, 2, &[]);
    assert_eq!(send(&mut endpoint, &stranger), Err(InnerDrop::NoConnection));
    assert_eq!(endpoint.take_woken(), None);
}
