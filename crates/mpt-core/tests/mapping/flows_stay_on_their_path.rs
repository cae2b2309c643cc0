//! Flow mapping.

use mpt_core::{ConnectionConfig, DownReason, Mapping, Node, PathId};

use crate::common::*;

fn flow_mapped(weights: &[u16]) -> Node<Packet> {
    node(ConnectionConfig { mapping: Mapping::Flow, ..connection(paths(weights)) })
}

/// The paths of 10,000 flows.
fn flows(node: &mut Node<Packet>) -> Vec<PathId> {
    (0..10_000_u16)
        .map(|flow| {
            let packet = udp("10.0.0.1", "10.1.0.1", flow, 443, &[]);
            let transmits = send(node, &packet).unwrap();
            assert_eq!(transmits.len(), 1);
            transmits[0].path
        })
        .collect()
}

#[test]
fn a_flow_keeps_its_path_and_its_packets_carry_no_number() {
    let mut node = flow_mapped(&[1, 1, 1]);
    let first = flows(&mut node);
    assert_eq!(first, flows(&mut node));
    let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    let length = packet.len();
    let outgoing =
        node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 1, length)).unwrap();
    assert!(!outgoing.header.numbered);
    assert_eq!(outgoing.header_len(), 4);
}

#[test]
fn the_flows_are_shared_by_weight() {
    let weights = [5, 1, 3, 1];
    let mut node = flow_mapped(&weights);
    let paths = flows(&mut node);
    for ((id, _), weight) in node.tunnels().paths().zip(weights) {
        let share = paths.iter().filter(|&&path| path == id).count() as f64;
        let expected = 1_000.0 * f64::from(weight);
        // Binomial: five standard deviations.
        let deviation = (expected * (1.0 - expected / 10_000.0)).sqrt();
        assert!((share - expected).abs() < 5.0 * deviation, "{share} of {expected}");
    }
}

#[test]
fn only_the_flows_of_a_lost_path_move_and_they_come_back() {
    let mut node = flow_mapped(&[1, 2, 1]);
    let before = flows(&mut node);
    let (lost, _) = node.tunnels().paths().nth(1).unwrap();
    node.set_path_state(origin(), lost, DownReason::Interface, true);
    let meanwhile = flows(&mut node);
    for (before, meanwhile) in before.iter().zip(&meanwhile) {
        assert_ne!(*meanwhile, lost);
        assert!(*before == lost || before == meanwhile);
    }
    node.set_path_state(origin(), lost, DownReason::Interface, false);
    assert_eq!(flows(&mut node), before);
}

#[test]
fn a_larger_weight_only_draws_flows_towards_its_path() {
    let mut node = flow_mapped(&[1, 1, 1]);
    let before = flows(&mut node);
    let (id, _) = node.tunnels().paths().next().unwrap();
    node.set_weights(origin(), id, 4, 1).unwrap();
    for (before, after) in before.into_iter().zip(flows(&mut node)) {
        assert!(after == before || after == id);
    }
}

#[test]
fn all_fragments_of_a_packet_take_one_path() {
    let mut node = flow_mapped(&[1, 1, 1, 1]);
    for host in 0..=255 {
        let source = format!("10.0.7.{host}");
        let mut first = udp(&source, "10.1.0.1", 5000, 443, &[0; 32]);
        first[6] = 0x20;
        fill_ipv4_checksum(&mut first);
        let mut second = packet(&source, "10.1.0.1", UDP, &[0xab; 24]);
        second[6..8].copy_from_slice(&[0, 5]);
        fill_ipv4_checksum(&mut second);
        let path = |transmits: Vec<mpt_core::Transmit>| transmits[0].path;
        let first = path(send(&mut node, &first).unwrap());
        assert_eq!(first, path(send(&mut node, &second).unwrap()));
    }
}
