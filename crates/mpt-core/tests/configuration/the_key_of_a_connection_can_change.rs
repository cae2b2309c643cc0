//! The GRE key of a connection may be assigned while it runs.

use mpt_core::{ConfigError, ConnectionConfig, ConnectionId, DatagramDrop, Selector, Tunnels};

use crate::common::*;

const ID: ConnectionId = ConnectionId(0);

#[test]
fn from_the_next_packet_on() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    let device = &mut Device::default();
    let mtu = endpoint.inner_mtu(DEVICE);
    receive(&mut endpoint, origin(), 1, &gre(0, &inner), device).unwrap();

    endpoint.set_key(ID, Some(7)).unwrap();
    let old = receive(&mut endpoint, origin(), 1, &gre(1, &inner), device);
    assert_eq!(old, Err(DatagramDrop::MissingKey));
    receive(&mut endpoint, origin(), 1, &gre_key(7, 1, &inner), device).unwrap();
    let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    let length = packet.len();
    let outgoing = endpoint.handle_inner(DEVICE, &mut packet, Complete, 1, length).unwrap();
    assert_eq!(outgoing.gre.key, Some(7));
    assert_eq!(endpoint.inner_mtu(DEVICE), mtu - 4);

    endpoint.set_key(ID, None).unwrap();
    receive(&mut endpoint, origin(), 1, &gre(2, &inner), device).unwrap();
    assert_eq!(endpoint.inner_mtu(DEVICE), mtu);
    assert_eq!(device.delivered.len(), 3);
}

#[test]
fn not_to_one_that_is_taken() {
    let mut endpoint: Tunnels<Packet> = endpoint(connection(vec![path(1)]));
    let second = ConnectionConfig {
        name: "second".into(),
        key: Some(7),
        selectors: vec![Selector::to("10.2.0.0/16".parse().unwrap())],
        ..connection(vec![path(1)])
    };
    endpoint.add_connection(origin(), second).unwrap();
    let error = endpoint.set_key(ID, Some(7)).unwrap_err();
    assert!(matches!(error, ConfigError::SameTuple { .. }), "{error}");
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    let device = &mut Device::default();
    receive(&mut endpoint, origin(), 1, &gre(0, &inner), device).unwrap();
    assert_eq!(endpoint.set_key(ConnectionId(9), None), Err(ConfigError::Gone));
}
