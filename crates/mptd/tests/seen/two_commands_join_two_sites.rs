//! Two routers join the networks behind them by a command each, of which the first prints the second.

use std::net::IpAddr;

use crate::hosts::Host;
use crate::machines::{Machine, Scene, carry, line_of};

const OPERATIONS: &str = include_str!("../../../../docs/operations.md");

/// A host in a network behind a router, which is its way to everything.
pub(crate) fn behind(router: &Machine, name: &str, network: &str) -> Host {
    let host = Host::new(name);
    let [own, gateway] = [2, 1].map(|end| format!("{network}.{end}/24"));
    router.host.cable("lan0", &[&gateway], (&host, "eth0", &[&own]));
    host.ip(&format!("route add default via {network}.1"));
    host
}

#[test]
fn each_side_has_one_command_and_their_networks_reach_each_other() {
    let scene = Scene::new(1);
    let (first, second) = (&scene.server, &scene.clients[0]);
    let [left, right] = [behind(first, "left", "192.168.1"), behind(second, "right", "192.168.2")];
    let before = [first.traces(), second.traces()];
    // The command as it stands in the document.
    let command = OPERATIONS.lines().find_map(|line| line.strip_prefix("    mpt setup site "));
    let command = command.expect("docs/operations.md has the command");
    let networks: Vec<_> = ["setup", "site"].into_iter().chain(command.split(' ')).collect();
    let planned = first.succeeds(&[&networks[..], &["--dry-run"]].concat());
    assert!(planned.contains("would print a line for mpt setup site"), "{planned}");
    assert!(!planned.contains("masquerade"), "nobody's address is changed: {planned}");
    assert_eq!(first.traces(), before[0]);

    let printed = first.succeeds(&networks);
    assert!(printed.contains("On the other one, as root:"), "{printed}");
    let command = printed.lines().find_map(|line| line.trim().strip_prefix("mpt setup site "));
    assert_eq!(command, Some(&*line_of(&printed)), "{printed}");
    let joined = second.succeeds(&["setup", "site", &line_of(&printed)]);
    for uplink in ["uplink0", "uplink1"] {
        assert!(joined.contains(&format!("{uplink}: works in both directions")), "{joined}");
    }
    for (from, to, address, source) in [
        (&left, &right, "192.168.2.2", "192.168.1.2"),
        (&right, &left, "192.168.1.2", "192.168.2.2"),
    ] {
        let seen = carry(from, to, address);
        assert_eq!(seen, source.parse::<IpAddr>().unwrap(), "addresses stay as they are");
    }
    // A host that is not behind the other router is reached directly.
    let route = second.host.ip("route get 203.0.113.1");
    assert!(route.contains("dev uplink0"), "{route}");

    for machine in [second, first] {
        machine.succeeds(&["setup", "undo"]);
    }
    assert_eq!([first.traces(), second.traces()], before);
}

#[test]
fn networks_that_make_no_sense_are_explained() {
    let scene = Scene::new(1);
    let (first, second) = (&scene.server, &scene.clients[0]);
    let site = |here: &str, there: &str| {
        first.fails(2, &["setup", "site", "--here", here, "--there", there])
    };
    let said = first.fails(2, &["setup", "site"]);
    assert!(said.contains("--here 192.168.1.0/24 --there 192.168.2.0/24"), "{said}");
    let said = site("192.168.0.0/16", "192.168.2.0/24");
    assert!(said.contains("192.168.0.0/16 and 192.168.2.0/24 overlap"), "{said}");
    let said = site("192.168.2.0/24", "203.0.113.0/24");
    assert!(said.contains("203.0.113.0/24 is in use at this router"), "{said}");
    let said = second.fails(2, &["setup", "site", "mpt1:AAAA", "--here", "192.168.2.0/24"]);
    assert!(said.contains("leave --here and --there out"), "{said}");
    let said = second.fails(2, &["setup", "site", "mpt1:AAAA"]);
    assert!(said.contains("the line is damaged"), "{said}");
}
