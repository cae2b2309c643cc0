//! Flow mapping.

use mpt_core::{ConnectionConfig, DownReason, Mapping, PathId, Tunnels};

use crate::common::*;

fn flow_mapped(weights: &[u16]) -> Tunnels<Packet> {
    endpoint(ConnectionConfig { mapping: Mapping::Flow, ..connection(paths(weights)) })
}

/// The paths of 10,000 flows.
fn flows(endpoint: &mut Tunnels<Packet>) -> Vec<PathId> {
    (0..10_000_u16)
        .map(|flow| {
            let packet = udp("10.0.0.1", "10.1.0.1", flow, 443, &[]);
            let transmits = send(endpoint, &packet).unwrap();
            assert_eq!(transmits.len(), 1);
            transmits[0].path
        })
        .collect()
}

#[test]
fn a_flow_keeps_its_path_and_its_packets_carry_no_number() {
    let mut endpoint = flow_mapped(&[1, 1, 1]);
    let first = flows(&mut endpoint);
    assert_eq!(first, flows(&mut endpoint));
    let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    let length = packet.len();
    let outgoing = endpoint.handle_inner(DEVICE, &mut packet, Complete, 1, length).unwrap();
    assert_eq!(outgoing.gre.sequence, None);
    assert_eq!(outgoing.gre.header_len(), 4);
}

#[test]
fn the_flows_are_shared_by_weight() {
    let weights = [5, 1, 3, 1];
    let mut endpoint = flow_mapped(&weights);
    let paths = flows(&mut endpoint);
    for ((id, _), weight) in endpoint.paths().zip(weights) {
        let share = paths.iter().filter(|&&path| path == id).count() as f64;
        let expected = 1_000.0 * f64::from(weight);
        // Binomial: five standard deviations.
        let deviation = (expected * (1.0 - expected / 10_000.0)).sqrt();
        assert!((share - expected).abs() < 5.0 * deviation, "{share} of {expected}");
    }
}

#[test]
fn only_the_flows_of_a_lost_path_move_and_they_come_back() {
    let mut endpoint = flow_mapped(&[1, 2, 1]);
    let before = flows(&mut endpoint);
    let (lost, _) = endpoint.paths().nth(1).unwrap();
    endpoint.set_path_down(origin(), lost, DownReason::Interface);
    let meanwhile = flows(&mut endpoint);
    for (before, meanwhile) in before.iter().zip(&meanwhile) {
        assert_ne!(*meanwhile, lost);
        assert!(*before == lost || before == meanwhile);
    }
    endpoint.set_path_up(origin(), lost, DownReason::Interface);
    assert_eq!(flows(&mut endpoint), before);
}

#[test]
fn a_larger_weight_only_draws_flows_towards_its_path() {
    let mut endpoint = flow_mapped(&[1, 1, 1]);
    let before = flows(&mut endpoint);
    let (id, _) = endpoint.paths().next().unwrap();
    endpoint.set_weights(origin(), id, 4, 1).unwrap();
    for (before, after) in before.into_iter().zip(flows(&mut endpoint)) {
        assert!(after == before || after == id);
    }
}

#[test]
fn all_fragments_of_a_packet_take_one_path() {
    let mut endpoint = flow_mapped(&[1, 1, 1, 1]);
    for host in 0..=255 {
        let source = format!("10.0.7.{host}");
        let mut first = udp(&source, "10.1.0.1", 5000, 443, &[0; 32]);
        first[6] = 0x20;
        fill_ipv4_checksum(&mut first);
        let mut second = packet(&source, "10.1.0.1", UDP, &[0xab; 24]);
        second[6..8].copy_from_slice(&[0, 5]);
        fill_ipv4_checksum(&mut second);
        let path = |transmits: Vec<mpt_core::Transmit>| transmits[0].path;
        let first = path(send(&mut endpoint, &first).unwrap());
        assert_eq!(first, path(send(&mut endpoint, &second).unwrap()));
    }
}
