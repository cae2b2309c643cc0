//! Backup links.

use mpt_core::{DownReason, Mapping, PathConfig};

use crate::common::*;

fn tiers(mapping: Mapping) -> mpt_core::ConnectionConfig {
    let paths = [(1, 0), (2, 0), (3, 1), (4, 1), (5, 7)];
    let paths = paths.map(|(n, tier)| PathConfig { tier, ..path(n) });
    mpt_core::ConnectionConfig { mapping, ..connection(paths.to_vec()) }
}

#[test]
fn each_tier_in_its_turn() {
    let mut node = node(tiers(Mapping::Packet));
    let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
    let down = DownReason::Interface;
    assert_eq!(send_many(&mut node, 4), [1, 2, 1, 2]);
    node.set_path_state(origin(), ids[0], down, true);
    assert_eq!(send_many(&mut node, 3), [2, 2, 2]);
    node.set_path_state(origin(), ids[1], down, true);
    assert_eq!(send_many(&mut node, 4), [3, 4, 3, 4]);
    node.set_path_state(origin(), ids[2], down, true);
    node.set_path_state(origin(), ids[3], down, true);
    assert_eq!(send_many(&mut node, 2), [5, 5]);
    node.set_path_state(origin(), ids[3], down, false);
    assert_eq!(send_many(&mut node, 2), [4, 4]);
    node.set_path_state(origin(), ids[0], down, false);
    assert_eq!(send_many(&mut node, 3), [1, 1, 1]);
}

#[test]
fn a_tier_can_be_changed() {
    let mut node = node(tiers(Mapping::Packet));
    let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
    node.set_tier(origin(), ids[1], 9);
    assert_eq!(send_many(&mut node, 2), [1, 1]);
    node.set_tier(origin(), ids[4], 0);
    let mut shares = send_many(&mut node, 4);
    shares.sort_unstable();
    assert_eq!(shares, [1, 1, 5, 5]);
}

#[test]
fn copies_and_flows_stay_in_the_tier() {
    let mut node = node(tiers(Mapping::Duplicate));
    assert_eq!(send_many(&mut node, 1), [1, 2]);
    let mut node = crate::common::node(tiers(Mapping::Flow));
    for port in 0..100 {
        let packet = udp("10.0.0.1", "10.1.0.1", port, 9, &[]);
        let transmits = send(&mut node, &packet).unwrap();
        assert_eq!(node.tunnels().path(transmits[0].path).unwrap().config().tier, 0);
    }
}
