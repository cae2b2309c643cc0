//! Capabilities: an end announces what the registry of `docs/protocol.md` has, no less and no more.

use mpt_wire::control::{Capability, Kind};

use super::raw::*;

/// Identifiers and versions of the rows of the registry that are assigned.
fn registry() -> Vec<Capability> {
    let document = include_str!("../../../../docs/protocol.md");
    let (_, behind) = document.split_once("**Capabilities**").expect("the registry");
    let (table, _) = behind.split_once("Versions of the protocol:").expect("its end");
    let rows = table.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split('|').map(str::trim);
        Some(Capability { id: cells.next()?.parse().ok()?, version: cells.next()?.parse().ok()? })
    });
    rows.collect()
}

#[test]
fn each_capability_of_the_registry_once_and_no_other() {
    let mut server = Server::new(1);
    let peer = Raw::connect(&mut server, 1, Kind::Connection, "office", "192.0.2.1:4754");
    let announced: Vec<Capability> = peer.welcome.capabilities.as_slice().to_vec();
    assert_eq!(announced, registry());
    assert_eq!(announced, Capability::ANNOUNCED);
}
