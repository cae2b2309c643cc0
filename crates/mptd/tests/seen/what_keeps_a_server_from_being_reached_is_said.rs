//! Obstacles between a server and its clients are named where they are found: a packet filter, a private address, addresses that are in use, a
//! host without an uplink, a server on which nothing runs.

use std::fs;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::machines::{Machine, ROUTER, SERVER, Scene, carry, line_of};
use crate::two_commands_join_two_sites::behind;

/// The network in which `mpt setup server` chooses a pool by itself.
const POOLS: &str = "10.64.0.0/10";

/// Gives the administrator's own filter a chain at this hook that drops everything.
fn drop_everything(machine: &Machine, hook: &str) {
    machine.host.program("nft", "add table inet mine");
    let chain = format!("{{ type filter hook {hook} priority 0 ; policy drop ; }}");
    machine.host.program("nft", &format!("add chain inet mine {hook} {chain}"));
}

/// Runs the commands for nft that the program has printed, and returns them.
fn run_as_printed(machine: &Machine, printed: &str) -> Vec<String> {
    let from = |line: &str| line.find("nft insert ").map(|at| line[at + 4..].to_owned());
    let commands: Vec<_> = printed.lines().filter_map(from).collect();
    for command in &commands {
        machine.host.program("nft", command);
    }
    commands
}

/// The table of `mpt setup` cannot open what another one closes, so the rule to add is printed.
#[test]
fn a_filter_that_drops_what_no_rule_names() {
    let scene = Scene::new(1);
    let (client, server) = (&scene.clients[0], &scene.server);
    drop_everything(server, "input");
    let printed = server.succeeds(&["setup", "server"]);
    let line = line_of(&printed);
    let closed = client.fails(1, &["join", "--uplink", "uplink0", &line]);
    assert!(closed.contains("UDP port 4754 is closed on the way"), "{closed}");

    let words = "A packet filter of this host probably drops UDP port 4754. Let it in: nft ";
    assert!(printed.contains(words), "{printed}");
    let commands = run_as_printed(server, &printed);
    assert_eq!(commands, ["insert rule inet mine input udp dport 4754 accept"]);
    client.succeeds(&["join", &line]);
    // The rule is the administrator's: it stays.
    server.succeeds(&["setup", "undo"]);
    let tables = server.host.program("nft", "list table inet mine");
    assert!(tables.contains("udp dport 4754 accept"), "{tables}");
}

/// Containers bring such a filter.
#[test]
fn a_filter_that_forwards_nothing() {
    let scene = Scene::new(1);
    let (client, server) = (&scene.clients[0], &scene.server);
    drop_everything(server, "forward");
    let printed = server.succeeds(&["setup", "server"]);
    client.succeeds(&["join", &line_of(&printed)]);
    let connects = || {
        let _listener = scene.router.run(|| TcpListener::bind((ROUTER, 7001))).unwrap();
        let address = format!("{ROUTER}:7001").parse().unwrap();
        client.host.run(|| TcpStream::connect_timeout(&address, Duration::from_secs(2))).is_ok()
    };
    assert!(!connects(), "the filter drops it");
    let commands = run_as_printed(server, &printed);
    assert_eq!(commands.len(), 2, "{printed}");
    assert!(connects(), "{printed}");
    let source = carry(&client.host, &scene.router, ROUTER);
    assert_eq!(source, SERVER.parse::<IpAddr>().unwrap());
}

#[test]
fn a_filter_of_either_router_of_two_sites() {
    let scene = Scene::new(1);
    let (first, second) = (&scene.server, &scene.clients[0]);
    let [left, right] = [behind(first, "left", "192.168.1"), behind(second, "right", "192.168.2")];
    let networks = ["--here", "192.168.1.0/24", "--there", "192.168.2.0/24"];
    for router in [first, second] {
        drop_everything(router, "forward");
    }
    let printed = first.succeeds(&[&["setup", "site"][..], &networks].concat());
    assert_eq!(run_as_printed(first, &printed).len(), 2, "{printed}");
    let printed = second.succeeds(&["setup", "site", &line_of(&printed)]);
    assert_eq!(run_as_printed(second, &printed).len(), 2, "{printed}");
    for (from, to, address) in [(&left, &right, "192.168.2.2"), (&right, &left, "192.168.1.2")] {
        carry(from, to, address);
    }
}

#[test]
fn an_address_that_others_do_not_reach() {
    let scene = Scene::new(0);
    let server = &scene.server;
    let public = server.succeeds(&["setup", "server"]);
    assert!(!public.contains("is a private address"), "{public}");
    server.succeeds(&["setup", "undo"]);
    server.host.add_address("eth0", "192.168.5.10/24");
    let private = server.succeeds(&["setup", "server", "--listen", "192.168.5.10"]);
    for expected in [
        "192.168.5.10 is a private address. If clients come from elsewhere, forward UDP port 4754 to it",
        "mpt setup server --address with the public address or name",
    ] {
        assert!(private.contains(expected), "{expected} is not in {private}");
    }
    server.succeeds(&["setup", "undo"]);
    // Whoever has named the public address has done so.
    let named = ["setup", "server", "--listen", "192.168.5.10", "--address", SERVER];
    let named = server.succeeds(&named);
    assert!(!named.contains("is a private address"), "{named}");
}

#[test]
fn addresses_that_are_in_use() {
    let scene = Scene::new(0);
    let server = &scene.server;
    let before = server.traces();
    for (pool, why) in [
        ("203.0.113.128/25", "203.0.113.128/25 overlaps 203.0.113.0/24, which this host uses"),
        ("10.66.0.0/31", "10.66.0.0/31 has no room for a server and a client"),
    ] {
        let said = server.fails(2, &["setup", "server", "--pool", pool]);
        assert!(said.contains(why) && said.contains("with --pool"), "{said}");
    }
    assert_eq!(server.traces(), before);

    // The first pool that would be chosen leads elsewhere, and the next one is chosen.
    server.host.ip(&format!("route add 10.77.0.0/16 via {ROUTER}"));
    server.succeeds(&["setup", "server"]);
    let config = fs::read_to_string(server.directory.join("etc/mpt.toml")).unwrap();
    assert!(config.contains("addresses = [\"10.78.0.1/24\"]"), "{config}");
    server.succeeds(&["setup", "undo"]);

    server.host.ip(&format!("route add {POOLS} via {ROUTER}"));
    let said = server.fails(2, &["setup", "server"]);
    assert!(said.contains("uses all of 10.77.0.0/24 to 10.99.0.0/24"), "{said}");
}

#[test]
fn a_host_that_leads_nowhere() {
    let scene = Scene::new(1);
    let client = &scene.clients[0];
    let line = scene.line(&[]);
    for uplink in ["uplink0", "uplink1"] {
        client.host.ip(&format!("route del default dev {uplink}"));
    }
    let before = client.traces();
    let said = client.fails(1, &["join", &line]);
    assert!(said.contains("no interface has a default route"), "{said}");
    assert!(said.contains("connect an uplink, and run this again"), "{said}");
    assert_eq!(client.traces(), before);
}

/// A host without `mptd` answers that the port is closed. So does one that was started again, which has no tokens any more.
#[test]
fn a_server_on_which_nothing_runs() {
    let scene = Scene::new(1);
    let (client, server) = (&scene.clients[0], &scene.server);
    let line = scene.line(&[]);
    server.succeeds(&["setup", "undo"]);
    let before = client.traces();
    let said = client.fails(1, &["join", &line]);
    assert!(
        said.contains(&format!(
            "the server {SERVER} does not answer. Either mptd does not run there"
        )),
        "{said}"
    );
    for uplink in ["uplink0", "uplink1"] {
        assert!(said.contains(&format!("  {uplink}: ")), "{uplink} was tried: {said}");
    }
    assert!(said.contains("refused"), "the host has said so: {said}");
    assert_eq!(client.traces(), before, "nothing is left of it");

    let again = scene.line(&[]);
    client.succeeds(&["join", &again]);
}
