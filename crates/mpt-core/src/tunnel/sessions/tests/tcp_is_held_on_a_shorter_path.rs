//! A node knows TCP by the inner headers, in both IP versions, and where copies are sent holds nothing.

use std::time::Duration;

use super::common::*;
use crate::{ConnectionConfig, Mapping};

const LEAD: Duration = Duration::from_millis(50);

/// Returns true if a packet of this connection is held that comes on a path 50 ms shorter than others.
fn is_held(config: ConnectionConfig, inner: &[u8]) -> bool {
    let (start, device) = (origin(), &mut Device::default());
    let mut node = node(config);
    let (id, path) =
        node.tunnels().paths().next().map(|(id, path)| (id, path.remote().unwrap())).unwrap();
    node.tunnels_mut().set_path_lead(id, LEAD);
    let socket = node.tunnels().path(id).unwrap().config().sockets[0];
    receive_from(&mut node, start, socket, path, &gre(0, inner), device).unwrap();
    if !device.delivered.is_empty() {
        return false;
    }
    assert_eq!(node.next_timeout(), Some(start + LEAD));
    node.handle_timeout(start + LEAD, device);
    assert_eq!(device.delivered, [inner]);
    true
}

#[test]
fn and_no_other_protocol() {
    let main = || connection(vec![path(1), path(2)]);
    assert!(is_held(main(), &tcp("10.1.0.1", "10.0.0.1", 2, &[], &[])));
    assert!(!is_held(main(), &udp("10.1.0.1", "10.0.0.1", 1, 2, &[0])));
    assert!(is_held(connection_v6(), &tcp("fd01::1", "fd00::1", 16, &[], &[7; 100])));
    assert!(!is_held(connection_v6(), &udp("fd01::1", "fd00::1", 1, 2, &[0])));
}

#[test]
fn but_not_where_every_path_brings_a_copy() {
    let config =
        ConnectionConfig { mapping: Mapping::Duplicate, ..connection(vec![path(1), path(2)]) };
    assert!(!is_held(config, &tcp("10.1.0.1", "10.0.0.1", 2, &[], &[])));
}
