//! A new complete configuration is applied by its difference.

use mpt_core::{
    ConfigError, ConnectionConfig, DownReason, Mapping, PathConfig, Selector, SocketId, Tunnels,
};

use crate::common::*;

fn named(name: &str, prefix: &str, n: u8) -> ConnectionConfig {
    let prefix = prefix.parse().unwrap();
    ConnectionConfig {
        name: name.into(),
        selectors: vec![Selector::to(prefix)],
        sources: vec![prefix],
        ..connection(vec![path(n)])
    }
}

fn carrier(endpoint: &mut Tunnels<Packet>, destination: &str) -> Option<String> {
    let mut packet = udp("10.0.0.1", destination, 1, 2, &[]);
    let length = packet.len();
    let id = endpoint.handle_inner(DEVICE, &mut packet, Complete, 1, length).ok()?.connection;
    Some(endpoint.connection(id)?.name().to_owned())
}

#[test]
fn numbers_and_waiting_packets_stay() {
    let mut endpoint = endpoint(connection(paths(&[1, 1])));
    let (now, mut device) = (origin(), Device::default());
    send_many(&mut endpoint, 5);
    let inner = |number: u8| udp("10.1.0.1", "10.0.0.1", 1, 2, &[number]);
    for number in [0, 2] {
        receive(&mut endpoint, now, 1, &gre(number.into(), &inner(number)), &mut device).unwrap();
    }
    let ids: Vec<_> = endpoint.paths().map(|(id, _)| id).collect();

    let mut new = connection(paths(&[3, 1, 1]));
    new.copy_dscp = true;
    endpoint.reconfigure(now, vec![new], &mut device).unwrap();

    let (_, connection) = endpoint.connections().next().unwrap();
    assert_eq!(connection.next_sequence(), 5);
    assert_eq!(connection.paths().take(2).collect::<Vec<_>>(), ids);
    assert_eq!(device.delivered, [inner(0)]);
    receive(&mut endpoint, now, 2, &gre(1, &inner(1)), &mut device).unwrap();
    assert_eq!(device.delivered, [inner(0), inner(1), inner(2)]);
    let mut shares = send_many(&mut endpoint, 10);
    shares.sort_unstable();
    assert_eq!(shares, [1, 1, 1, 1, 1, 1, 2, 2, 3, 3]);
}

#[test]
fn selectors_keys_and_sockets_can_be_exchanged() {
    let mut endpoint: Tunnels<Packet> = Tunnels::new(0);
    let (now, mut device) = (origin(), Device::default());
    let (a, b) = (named("a", "10.1.0.0/16", 1), named("b", "10.2.0.0/16", 2));
    let ids = endpoint.reconfigure(now, vec![a.clone(), b.clone()], &mut device).unwrap();
    assert_eq!(carrier(&mut endpoint, "10.1.0.1").unwrap(), "a");

    let swapped = vec![
        ConnectionConfig { name: "b".into(), ..a },
        ConnectionConfig { name: "a".into(), ..b },
    ];
    let new_ids = endpoint.reconfigure(now, swapped, &mut device).unwrap();
    assert_eq!(new_ids, [ids[1], ids[0]]);
    assert_eq!(carrier(&mut endpoint, "10.1.0.1").unwrap(), "b");
    assert_eq!(carrier(&mut endpoint, "10.2.0.1").unwrap(), "a");
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    receive(&mut endpoint, now, 1, &gre(0, &inner), &mut device).unwrap();
    assert_eq!(endpoint.connection(ids[1]).unwrap().accepted().total(), 1);
}

#[test]
fn what_is_not_listed_is_removed() {
    let mut endpoint: Tunnels<Packet> = Tunnels::new(0);
    let (now, mut device) = (origin(), Device::default());
    let (a, b) = (named("a", "10.1.0.0/16", 1), named("b", "10.2.0.0/16", 2));
    endpoint.reconfigure(now, vec![a, b.clone()], &mut device).unwrap();
    endpoint.reconfigure(now, vec![b], &mut device).unwrap();
    assert_eq!(carrier(&mut endpoint, "10.1.0.1"), None);
    assert_eq!(carrier(&mut endpoint, "10.2.0.1").unwrap(), "b");
    assert_eq!(endpoint.paths().count(), 1);
}

#[test]
fn a_bad_configuration_changes_nothing() {
    let mut endpoint: Tunnels<Packet> = Tunnels::new(0);
    let (now, mut device) = (origin(), Device::default());
    let (a, b) = (named("a", "10.1.0.0/16", 1), named("b", "10.2.0.0/16", 2));
    endpoint.reconfigure(now, vec![a, b], &mut device).unwrap();
    let bad = vec![named("c", "10.3.0.0/16", 3), named("d", "10.3.0.0/16", 4)];
    let equal = ConfigError::EqualSelectors { first: "c".into(), second: "d".into() };
    assert_eq!(endpoint.reconfigure(now, bad, &mut device), Err(equal));
    assert_eq!(carrier(&mut endpoint, "10.1.0.1").unwrap(), "a");
    assert_eq!(carrier(&mut endpoint, "10.2.0.1").unwrap(), "b");
    assert_eq!(carrier(&mut endpoint, "10.3.0.1"), None);
}

#[test]
fn mapping_and_state_follow() {
    let mut endpoint = endpoint(connection(paths(&[1, 1])));
    let (now, mut device) = (origin(), Device::default());
    let mut new = connection(paths(&[1, 1]));
    new.mapping = Mapping::Duplicate;
    endpoint.reconfigure(now, vec![new.clone()], &mut device).unwrap();
    assert_eq!(send_many(&mut endpoint, 1), [1, 2]);
    new.paths[0].up = false;
    endpoint.reconfigure(now, vec![new.clone()], &mut device).unwrap();
    assert_eq!(send_many(&mut endpoint, 1), [2]);
    let (_, path) = endpoint.paths().next().unwrap();
    assert!(path.down_reasons().contains(DownReason::Administrative));
    new.paths[0].up = true;
    endpoint.reconfigure(now, vec![new], &mut device).unwrap();
    assert_eq!(send_many(&mut endpoint, 1), [1, 2]);
}

#[test]
fn a_path_whose_interface_returns_gets_new_sockets() {
    let mut endpoint = endpoint(connection(paths(&[1, 1])));
    let (now, mut device) = (origin(), Device::default());
    let ids: Vec<_> = endpoint.paths().map(|(id, _)| id).collect();
    endpoint.set_path_down(now, ids[0], DownReason::Interface);
    endpoint.set_path_sockets(ids[0], vec![], None).unwrap();
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[]);
    receive(&mut endpoint, now, 1, &gre(0, &inner), &mut device).unwrap_err();

    endpoint.set_path_sockets(ids[0], vec![SocketId(77)], Some(ip("198.51.100.7"))).unwrap();
    endpoint.set_path_up(now, ids[0], DownReason::Interface);
    let remote = "192.0.2.1:4754".parse().unwrap();
    receive_from(&mut endpoint, now, SocketId(77), remote, &gre(0, &inner), &mut device).unwrap();
    let mut shares = send_many(&mut endpoint, 2);
    shares.sort_unstable();
    assert_eq!(shares, [1, 2]);

    // An address of the other IP version is refused, and nothing has changed.
    let mixed = endpoint.set_path_sockets(ids[0], vec![], Some(ip("2001:db8::1"))).unwrap_err();
    let expected = ConfigError::MixedPath { connection: "main".into(), path: "path1".into() };
    assert_eq!(mixed, expected);
    assert_eq!(endpoint.path(ids[0]).unwrap().config().local, Some(ip("198.51.100.7")));

    // The other path's tuple is not to be had.
    let mut third = PathConfig { sockets: vec![SocketId(78)], ..path(3) };
    third.remote = at("192.0.2.1:4754");
    let (id, _) = endpoint.connections().next().unwrap();
    let third = endpoint.add_path(now, id, third).unwrap();
    let taken = endpoint.set_path_sockets(third, vec![SocketId(77)], None).unwrap_err();
    let expected =
        ConfigError::SameTuple { first: "main/path1".into(), second: "main/path3".into() };
    assert_eq!(taken, expected);
    assert_eq!(endpoint.path(third).unwrap().config().sockets, [SocketId(78)]);
    receive_from(&mut endpoint, now, SocketId(78), remote, &gre(1, &inner), &mut device).unwrap();
}
