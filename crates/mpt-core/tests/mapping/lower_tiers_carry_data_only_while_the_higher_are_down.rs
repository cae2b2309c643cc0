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
    let mut endpoint = endpoint(tiers(Mapping::Packet));
    let ids: Vec<_> = endpoint.paths().map(|(id, _)| id).collect();
    let down = DownReason::Interface;
    assert_eq!(send_many(&mut endpoint, 4), [1, 2, 1, 2]);
    endpoint.set_path_down(origin(), ids[0], down);
    assert_eq!(send_many(&mut endpoint, 3), [2, 2, 2]);
    endpoint.set_path_down(origin(), ids[1], down);
    assert_eq!(send_many(&mut endpoint, 4), [3, 4, 3, 4]);
    endpoint.set_path_down(origin(), ids[2], down);
    endpoint.set_path_down(origin(), ids[3], down);
    assert_eq!(send_many(&mut endpoint, 2), [5, 5]);
    endpoint.set_path_up(origin(), ids[3], down);
    assert_eq!(send_many(&mut endpoint, 2), [4, 4]);
    endpoint.set_path_up(origin(), ids[0], down);
    assert_eq!(send_many(&mut endpoint, 3), [1, 1, 1]);
}

#[test]
fn a_tier_can_be_changed() {
    let mut endpoint = endpoint(tiers(Mapping::Packet));
    let ids: Vec<_> = endpoint.paths().map(|(id, _)| id).collect();
    endpoint.set_tier(origin(), ids[1], 9);
    assert_eq!(send_many(&mut endpoint, 2), [1, 1]);
    endpoint.set_tier(origin(), ids[4], 0);
    let mut shares = send_many(&mut endpoint, 4);
    shares.sort_unstable();
    assert_eq!(shares, [1, 1, 5, 5]);
}

#[test]
fn copies_and_flows_stay_in_the_tier() {
    let mut endpoint = endpoint(tiers(Mapping::Duplicate));
    assert_eq!(send_many(&mut endpoint, 1), [1, 2]);
    let mut endpoint = crate::common::endpoint(tiers(Mapping::Flow));
    for port in 0..100 {
        let packet = udp("10.0.0.1", "10.1.0.1", port, 9, &[]);
        let transmits = send(&mut endpoint, &packet).unwrap();
        assert_eq!(endpoint.path(transmits[0].path).unwrap().config().tier, 0);
    }
}
