//! A server is set up by one command and joined by another, as the README says; a token is good once; what goes wrong is said in a sentence;
//! and undoing it leaves nothing.

use std::fs;
use std::net::IpAddr;
use std::process::{Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::hosts::wait_for;
use crate::machines::{Machine, ROUTER, SERVER, Scene, carry, line_of};

const README: &str = include_str!("../../../../README.md");
/// The server inside the tunnel.
const INSIDE: &str = "10.77.0.1";
/// From the first command to a tunnel that works.
const LONGEST: Duration = Duration::from_secs(10);

/// The commands of the quick start, without `sudo`, in their order.
fn quick_start() -> Vec<Vec<String>> {
    let section = README.split("## Quick start").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let commands = section.lines().filter_map(|line| line.strip_prefix("    sudo mpt "));
    commands.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn the_quick_start_does_what_it_says() {
    let scene = Scene::new(1);
    let (client, server) = (&scene.clients[0], &scene.server);
    client.host.sysctl("net/ipv4/ip_forward", "0");
    let before = [client.traces(), server.traces()];
    let commands = quick_start();
    let [setup, join, status, undo] = &commands[..] else { panic!("{commands:?}") };
    let words = |command: &[String], line: &str| -> Vec<String> {
        command
            .iter()
            .map(|word| if word.starts_with("mpt1:") { line.into() } else { word.clone() })
            .collect()
    };
    let run = |machine: &Machine, command: &[String], line: &str| {
        let words = words(command, line);
        machine.succeeds(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };

    let began = Instant::now();
    let line = line_of(&run(server, setup, ""));
    let joined = run(client, join, &line);
    let took = began.elapsed();
    eprintln!("from the first command to the tunnel: {:.2} s", took.as_secs_f64());
    assert!(took < LONGEST, "{took:?}");
    for uplink in ["uplink0", "uplink1"] {
        let expected = format!("{uplink}: works in both directions");
        assert!(joined.contains(&expected) && joined.contains("MTU 1500"), "{joined}");
    }
    assert!(joined.contains("sealed with") && joined.contains("mpt up"), "{joined}");
    let shown = run(client, status, "");
    assert!(shown.contains("mpt up") && !shown.contains(">0 "), "{shown}");
    // Nothing is wrong for the doctor either. That this host passes nothing on is worth a note.
    let config = client.directory.join("etc/mpt.toml");
    let found = client.succeeds(&["doctor", "--config", config.to_str().unwrap()]);
    assert!(found.contains("note    forward    net.ipv4.ip_forward = 0"), "{found}");
    assert!(found.contains("sealing    connection server: data is encrypted"), "{found}");

    client.host.ip("route get 203.0.113.1");
    carry(&client.host, &server.host, INSIDE);
    // To others the client is the server.
    let source = carry(&client.host, &scene.router, ROUTER);
    assert_eq!(source, SERVER.parse::<IpAddr>().unwrap());

    // The server knows its client after a restart.
    let config = server.directory.join("etc/mpt.toml");
    assert_eq!(fs::read_to_string(&config).unwrap().matches("[[client]]").count(), 1);
    let shown: serde_json::Value =
        serde_json::from_str(&server.succeeds(&["show", "--json"])).unwrap();
    let pid = i32::try_from(shown["daemon"]["pid"].as_u64().unwrap()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM)
        .unwrap();
    wait_for("the daemon ends", || (!server.directory.join("mptd.sock").exists()).then_some(()));
    let mut again = server.host.namespace.command(env!("CARGO_BIN_EXE_mptd")).unwrap();
    let mut again = again.arg("--config").arg(&config).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the client is back", || {
        let clients = server.mpt(&["client", "list"]);
        String::from_utf8_lossy(&clients.stdout).contains("2 of 2").then_some(())
    });
    let tokens = server.succeeds(&["setup", "token", "--list"]);
    assert!(tokens.contains("there is no token"), "{tokens}");
    carry(&client.host, &server.host, INSIDE);
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(again.id()).unwrap()),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert!(again.wait().unwrap().success());

    for machine in [client, server] {
        run(machine, undo, "");
    }
    assert_eq!([client.traces(), server.traces()], before);
}

#[test]
fn of_two_hosts_with_one_line_exactly_one_joins() {
    let scene = Scene::new(2);
    let line = scene.line(&[]);
    let outputs: Vec<Output> = thread::scope(|scope| {
        let join = |machine: &Machine| machine.command(&["join", &line]).output().unwrap();
        let both: Vec<_> =
            scene.clients.iter().map(|machine| scope.spawn(move || join(machine))).collect();
        both.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let joined = outputs.iter().position(|output| output.status.success());
    let joined = joined.unwrap_or_else(|| panic!("nobody joins: {outputs:?}"));
    let other = &scene.clients[1 - joined];
    let refused = String::from_utf8_lossy(&outputs[1 - joined].stderr);
    assert!(refused.contains("the token was used by another host, which is client"), "{refused}");
    // It has left nothing, and a line of its own lets it in.
    assert!(fs::read_dir(&other.directory).unwrap().next().is_none());
    let line = line_of(&scene.server.succeeds(&["setup", "token", "--client", "second"]));
    other.succeeds(&["join", &line]);
    let clients = scene.server.succeeds(&["client", "list"]);
    assert!(clients.contains("second.server"), "{clients}");
    // Once more, after the host has forgotten everything.
    other.succeeds(&["setup", "undo"]);
    let used = other.fails(1, &["join", &line]);
    assert!(used.contains("the token was used by another host"), "{used}");
}

#[test]
fn a_line_that_is_no_good_is_explained() {
    let scene = Scene::new(2);
    let (client, server) = (&scene.clients[0], &scene.server);
    let line = scene.line(&["--pool", "10.66.0.0/30"]);
    let another = line_of(&server.succeeds(&["setup", "token"]));
    let before = client.traces();
    let damaged = client.fails(2, &["join", &line[..line.len() - 1]]);
    assert!(damaged.contains("the line is damaged"), "{damaged}");
    let other = client.fails(2, &["join", "hello"]);
    assert!(other.contains("this is no line to join with"), "{other}");
    let nowhere = client.fails(2, &["join", "--uplink", "lo", &line]);
    assert!(
        nowhere.contains("interface lo has no default route; these have one: uplink0, uplink1"),
        "{nowhere}"
    );
    client.succeeds(&["join", "--dry-run", &line]);
    assert_eq!(client.traces(), before);

    // A port that a filter closes.
    server.host.program("nft", "add table inet shut");
    server.host.program(
        "nft",
        "add chain inet shut input { type filter hook input priority 0 ; policy drop ; }",
    );
    let closed = client.fails(1, &["join", "--uplink", "uplink0", &line]);
    assert!(closed.contains("UDP port 4754 is closed on the way"), "{closed}");
    assert!(closed.contains("uplink0: no answer within 5 s"), "{closed}");
    assert_eq!(client.traces(), before);
    server.host.program("nft", "delete table inet shut");

    client.succeeds(&["join", &line]);
    let full = server.fails(1, &["setup", "token"]);
    let no_address = "pool \"clients\" (10.66.0.0/30) has no address left for another client";
    assert!(full.contains(no_address), "{full}");
    // A line that was made while there was one.
    let late = &scene.clients[1];
    let before = late.traces();
    let refused = late.fails(1, &["join", &another]);
    assert!(refused.contains("the server refuses"), "{refused}");
    assert!(refused.contains(no_address), "{refused}");
    assert_eq!(late.traces(), before, "nothing is left of it");
    let again = client.fails(1, &["join", &line]);
    assert!(
        again.contains("this host has joined a server already; run mpt setup undo first"),
        "{again}"
    );
    let again = server.fails(1, &["setup", "server"]);
    assert!(again.contains("run mpt setup token"), "{again}");
}

#[test]
fn an_uplink_without_internet_is_named_and_the_others_are_used() {
    let scene = Scene::new(1);
    let client = &scene.clients[0];
    let line = scene.line(&[]);
    // Its router is there, and forwards nothing.
    scene.router.tc("qdisc add dev c0u1 root pfifo limit 0");
    let output = client.mpt(&["join", &line]);
    // As mpt status: degraded.
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("uplink uplink0: works in both directions"), "{printed}");
    assert!(printed.contains("uplink uplink1: does not lead to the server"), "{printed}");
    carry(&client.host, &scene.server.host, INSIDE);
}

#[test]
fn an_uplink_that_swallows_large_packets_is_used_with_those_that_fit() {
    let scene = Scene::new(1);
    let client = &scene.clients[0];
    let line = scene.line(&[]);
    // A longer packet is dropped there, and nobody reports it.
    scene.router.ip("link set c0u1 mtu 1400");
    let joined = client.succeeds(&["join", &line]);
    let mtu = |uplink: &str| -> u16 {
        let works = format!("uplink {uplink}: works in both directions");
        let said = joined.lines().find(|line| line.starts_with(&works)).expect(&joined);
        said.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(mtu("uplink0"), 1500, "{joined}");
    // A device takes a few bytes more than its MTU. The search for the largest packet may go on.
    assert!((1281..=1404).contains(&mtu("uplink1")), "{joined}");
    carry(&client.host, &scene.server.host, INSIDE);
}

#[test]
fn what_is_there_is_not_overwritten() {
    let scene = Scene::new(1);
    let client = &scene.clients[0];
    let line = scene.line(&[]);
    let etc = client.directory.join("etc");
    fs::create_dir(&etc).unwrap();
    fs::write(etc.join("mpt.toml"), "# mine\n").unwrap();
    let there = client.fails(1, &["join", &line]);
    assert!(there.contains("is there already, and nothing that exists is overwritten"), "{there}");
    let there = client.fails(1, &["setup", "server"]);
    assert!(there.contains("is there already, and nothing that exists is overwritten"), "{there}");
    assert_eq!(fs::read_to_string(etc.join("mpt.toml")).unwrap(), "# mine\n");
    fs::remove_file(etc.join("mpt.toml")).unwrap();

    // A file of ours that was changed by hand stays when the rest goes.
    client.succeeds(&["join", &line]);
    let text = fs::read_to_string(etc.join("mpt.toml")).unwrap();
    fs::write(etc.join("mpt.toml"), format!("# mine\n{text}")).unwrap();
    let undone = client.succeeds(&["setup", "undo"]);
    assert!(undone.contains("mpt.toml stays: it was changed by hand"), "{undone}");
    assert!(etc.join("mpt.toml").exists() && !client.directory.join("state").exists());
}
