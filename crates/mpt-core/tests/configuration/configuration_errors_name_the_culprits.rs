//! A configuration that cannot work is refused before it does harm.

use mpt_core::{
    ConfigError, ConnectionConfig, Mapping, Node, PathConfig, PortRange, Selector, check,
};

use crate::common::*;

fn error(config: ConnectionConfig) -> ConfigError {
    let mut node: Node<Packet> = Node::new([0; 32]);
    let error = node.add_connection(origin(), config.clone()).unwrap_err();
    assert_eq!(check(&[config]).unwrap_err(), error);
    assert_eq!(node.tunnels().connections().count(), 0);
    error
}

#[test]
fn weights_of_zero() {
    for path in [PathConfig { weight_out: 0, ..path(1) }, PathConfig { weight_in: 0, ..path(1) }] {
        let error = error(connection(vec![path]));
        assert_eq!(
            error.to_string(),
            "connection \"main\", path \"path1\": a weight must be from 1 to 65535"
        );
    }
    let mut node = node(connection(vec![path(1)]));
    let (id, _) = node.tunnels().paths().next().unwrap();
    assert!(matches!(node.set_weights(origin(), id, 0, 1), Err(ConfigError::ZeroWeight { .. })));
    assert_eq!(send_many(&mut node, 1), [1]);
}

#[test]
fn names_used_twice() {
    let twice = ConfigError::DuplicatePath { connection: "main".into(), name: "path1".into() };
    assert_eq!(error(connection(vec![path(1), path(1)])), twice);

    let mut node = node(connection(vec![path(1)]));
    let other = ConnectionConfig { selectors: vec![], ..connection(vec![path(2)]) };
    let twice = ConfigError::DuplicateConnection { name: "main".into() };
    assert_eq!(node.add_connection(origin(), other.clone()), Err(twice.clone()));
    assert_eq!(check(&[connection(vec![path(1)]), other]), Err(twice));
}

#[test]
fn no_path_and_too_many() {
    assert_eq!(error(connection(vec![])), ConfigError::NoPath { connection: "main".into() });
    let many = (0..257).map(|n| PathConfig { name: n.to_string(), ..path(1) }).collect();
    assert_eq!(error(connection(many)), ConfigError::TooManyPaths { connection: "main".into() });
}

#[test]
fn ip_versions_mixed_up() {
    let mixed = PathConfig { remote: at("[2001:db8::1]:4754"), ..path(1) };
    let expected = ConfigError::MixedPath { connection: "main".into(), path: "path1".into() };
    assert_eq!(error(connection(vec![mixed])), expected);

    let selector = Selector {
        source: Some("10.0.0.0/16".parse().unwrap()),
        ..Selector::to("fd01::/64".parse().unwrap())
    };
    let config = ConnectionConfig { selectors: vec![selector], ..connection(vec![path(1)]) };
    assert_eq!(error(config), ConfigError::MixedSelector { connection: "main".into() });
}

#[test]
fn ports_without_a_protocol_that_has_them() {
    for protocol in [None, Some(1), Some(47)] {
        let selector = Selector {
            protocol,
            destination_ports: Some(PortRange::from(80)),
            ..Selector::to("10.1.0.0/16".parse().unwrap())
        };
        let config = ConnectionConfig { selectors: vec![selector], ..connection(vec![path(1)]) };
        assert_eq!(error(config), ConfigError::PortsWithoutProtocol { connection: "main".into() });
    }
    assert_eq!(PortRange::new(2, 1), None);
}

#[test]
fn a_dscp_beyond_six_bits() {
    let selector = Selector { dscp: Some(64), ..Selector::to("10.1.0.0/16".parse().unwrap()) };
    let config = ConnectionConfig { selectors: vec![selector], ..connection(vec![path(1)]) };
    assert_eq!(error(config), ConfigError::Dscp { connection: "main".into() });
}

#[test]
fn duplicates_without_numbers() {
    let base = connection(vec![path(1)]);
    let config = ConnectionConfig { mapping: Mapping::Duplicate, sequence: false, ..base };
    assert_eq!(error(config), ConfigError::DuplicateWithoutSequence { connection: "main".into() });
}

#[test]
fn mtus_that_are_too_small() {
    let small = PathConfig { mtu: 575, ..path(1) };
    let expected = ConfigError::PathMtu {
        connection: "main".into(),
        path: "path1".into(),
        mtu: 575,
        minimum: 576,
    };
    assert_eq!(error(connection(vec![small])), expected);

    let mut config = connection_v6();
    config.paths[0].mtu = 1280 + 40 + 8 + 8 - 1;
    assert_eq!(
        error(config.clone()),
        ConfigError::Ipv6Mtu { connection: "main".into(), mtu: 1279 }
    );
    config.paths[0].mtu += 1;
    check(&[config.clone()]).unwrap();
    // Without any IPv6 inside it is no error.
    config.paths[0].mtu -= 1;
    config.selectors = vec![Selector::to("10.1.0.0/16".parse().unwrap())];
    config.sources = vec![];
    check(&[config]).unwrap();
}
