//! Packets that are meant for an ordinary network of a connection do not leave by the default route of the uplinks, whatever somebody does to routes,
//! rules, the device or the daemon. With `fallback = "direct"` they may.

use std::thread;
use std::time::Duration;

use mpt_api::Command;

use crate::hosts::{Config, Pair, wait_for};
use crate::internet::{
    Flood, a_reload_changes_the_addresses, a_start_after_a_crash_fails, batch, both, daemon_routes,
    deletion, hosts, rules, unblock, way_to_server, within_a_second,
};
use crate::support::Picture;

/// The networks of the server, of which the other end is the way.
const NETWORKS: [&str; 2] = ["203.0.113.0/24", "2001:db8:9::/48"];

/// Returns hosts like [`hosts`], but only the server's networks lead into the tunnel.
fn hosts_with_networks() -> (Pair, [Config; 2]) {
    let (pair, mut configs) = hosts();
    let networks = [&["10.72.0.2", "fd00:72::2"][..], &NETWORKS].concat();
    configs[0].connection("tunnel").set("networks", networks);
    (pair, configs)
}

/// Returns the routes to the server's networks as `ip` writes them.
fn routes(pair: &Pair) -> Vec<String> {
    let shown = ["-4", "-6"].map(|version| pair.a.ip(&format!("{version} route show table all")));
    let of_server = |line: &&str| NETWORKS.iter().any(|network| line.contains(network));
    let mut lines: Vec<_> =
        shown.iter().flat_map(|it| it.lines()).filter(of_server).map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Runs commands of `ip` for both versions of IP, and waits until all routes are there again. `NETWORK` stands for the network.
fn removed_by(commands: &[&str]) {
    let (pair, configs) = hosts_with_networks();
    let [a, _b] = pair.start(&configs);
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    let before = routes(&pair);
    let flood = Flood::start(&pair.a);
    for command in commands.repeat(3) {
        for (version, network) in ["-4", "-6"].into_iter().zip(NETWORKS) {
            pair.a.ip(&format!("{version} {}", command.replace("NETWORK", network)));
            within_a_second(&format!("{version} {command}: the routes are there again"), || {
                routes(&pair) == before
            });
        }
    }
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    let sent = flood.assert_nothing_in_clear();
    assert!(sent.iter().all(|&sent| sent > 0), "{sent:?}");
    assert!(a.log().contains("put back"), "{}", a.log());
}

#[test]
fn while_its_route_is_removed() {
    removed_by(&["route del NETWORK dev mpt0"]);
}

#[test]
fn while_the_routes_of_the_device_are_flushed() {
    removed_by(&["route flush dev mpt0"]);
}

#[test]
fn while_the_routes_of_the_daemon_are_flushed() {
    removed_by(&["route flush table all proto 109"]);
}

#[test]
fn while_what_keeps_it_inside_is_removed() {
    removed_by(&["route del unreachable NETWORK"]);
}

/// Returns every rule and every route of the daemon for one version of IP (`-4`, `-6`), as `ip` writes them.
fn rules_and_routes(pair: &Pair, version: &str) -> Vec<String> {
    let mut rules = rules(&pair.a, version);
    rules.sort();
    [rules, daemon_routes(&pair.a, version)].concat()
}

/// systemd-networkd does this when it starts: it removes every rule and every route without device that neither it nor the kernel made.
#[test]
fn while_a_network_manager_removes_all_foreign_routes_at_once() {
    let (pair, configs) = hosts_with_networks();
    let [_a, _b] = pair.start(&configs);
    let all = || ["-4", "-6"].map(|version| rules_and_routes(&pair, version));
    let (before, to_server) = (all(), routes(&pair));
    let flood = Flood::start(&pair.a);
    for _ in 0..5 {
        for version in ["-4", "-6"] {
            let rules = pair.a.ip(&format!("-details {version} rule"));
            let foreign = rules.lines().filter(|line| !line.contains("proto kernel"));
            let mut commands: Vec<_> = foreign.map(deletion).collect();
            let shown = pair.a.ip(&format!("{version} route show table all"));
            let foreign = shown.lines().filter(|line| !line.contains("proto kernel"));
            let ours = foreign.filter(|line| line.contains("proto 109"));
            commands.extend(ours.map(|line| format!("route del {line}")));
            assert!(commands.len() > 1, "{shown}");
            batch(&pair.a, version, &commands);
        }
        // The next round begins when there is something of everything to be removed again.
        within_a_second("rules and routes are there again", || {
            all() == before && routes(&pair) == to_server
        });
    }
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    flood.assert_nothing_in_clear();
}

#[test]
fn while_the_device_is_down_and_comes_up_again() {
    let (pair, configs) = hosts_with_networks();
    let [_a, _b] = pair.start(&configs);
    let flood = Flood::start(&pair.a);
    pair.a.set_link("mpt0", false);
    assert_eq!(way_to_server(&pair.a), [None, None]);
    thread::sleep(Duration::from_millis(200));
    pair.a.set_link("mpt0", true);
    within_a_second("the way leads into the tunnel", || way_to_server(&pair.a) == both("mpt0"));
    flood.assert_nothing_in_clear();
}

#[test]
fn while_a_reload_changes_its_source_address() {
    a_reload_changes_the_addresses(hosts_with_networks());
}

#[test]
fn after_a_crash_until_the_daemon_runs_again() {
    let (pair, configs) = hosts_with_networks();
    let before = Picture::of(&pair.a);
    let [mut a, b] = pair.start(&configs);
    let running = routes(&pair);
    let flood = Flood::start(&pair.a);
    a.kill();
    wait_for("the device of the killed daemon is gone", || {
        (way_to_server(&pair.a) == [None, None]).then_some(())
    });
    thread::sleep(Duration::from_millis(200));
    a.start_again(&pair.a);
    a.wait_until_up();
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    assert_eq!(routes(&pair), running, "what was left is taken over");
    flood.assert_nothing_in_clear();
    a.stop();
    before.wait_for(&pair.a);
    assert_eq!(way_to_server(&pair.a), both("line1"), "a clean end opens the way");
    b.stop();
}

#[test]
fn after_a_crash_when_the_next_start_fails() {
    a_start_after_a_crash_fails(hosts_with_networks());
}

#[test]
fn after_a_crash_unless_the_next_configuration_has_no_such_network() {
    let (pair, mut configs) = hosts_with_networks();
    let [mut a, _b] = pair.start(&configs);
    a.kill();
    assert_eq!(way_to_server(&pair.a), [None, None]);
    configs[0].connection("tunnel").set("networks", vec!["10.72.0.2", "fd00:72::2"]);
    a.write_config(&configs[0]);
    a.start_again(&pair.a);
    a.wait_until_up();
    assert_eq!(way_to_server(&pair.a), both("line1"));
}

#[test]
fn until_a_command_opens_what_a_crash_has_blocked() {
    let (pair, configs) = hosts_with_networks();
    let before = Picture::of(&pair.a);
    let [mut a, b] = pair.start(&configs);
    let running = routes(&pair);
    let said = unblock(&pair.a);
    assert!(said.contains("nothing"), "{said}");
    assert_eq!(routes(&pair), running, "those of a running daemon stay");
    a.kill();
    assert_eq!(way_to_server(&pair.a), [None, None]);
    let said = unblock(&pair.a);
    assert!(said.contains("unreachable 203.0.113.0/24"), "{said}");
    before.wait_for(&pair.a);
    assert_eq!(way_to_server(&pair.a), both("line1"));
    b.stop();
}

#[test]
fn until_the_network_is_taken_out_of_the_file() {
    let (pair, mut configs) = hosts_with_networks();
    let [a, _b] = pair.start(&configs);
    configs[0].connection("tunnel").set("networks", vec!["10.72.0.2", "fd00:72::2"]);
    a.write_config(&configs[0]);
    a.request(Command::Reload).unwrap();
    assert_eq!(way_to_server(&pair.a), both("line1"));
    assert_eq!(routes(&pair), Vec::<String>::new());
}

/// A part of the network that is somewhere else stays there, whatever becomes of the tunnel.
#[test]
fn but_a_more_specific_route_of_somebody_else_is_taken() {
    let (pair, configs) = hosts_with_networks();
    let [mut a, _b] = pair.start(&configs);
    pair.a.ip("route add 203.0.113.8/29 via 10.71.2.2 dev line2");
    pair.a.ip("-6 route add 2001:db8:9::/64 via fd00:71:2::2 dev line2");
    assert_eq!(way_to_server(&pair.a), both("line2"), "with the tunnel");
    pair.a.set_link("mpt0", false);
    assert_eq!(way_to_server(&pair.a), both("line2"), "without its device");
    a.kill();
    assert_eq!(way_to_server(&pair.a), both("line2"), "without the daemon");
}

#[test]
fn unless_the_fallback_is_direct() {
    let (pair, mut configs) = hosts_with_networks();
    configs[0].connection("tunnel").set("fallback", "direct");
    let before = Picture::of(&pair.a);
    let [mut a, b] = pair.start(&configs);
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    pair.a.set_link("mpt0", false);
    assert_eq!(way_to_server(&pair.a), both("line1"));
    pair.a.set_link("mpt0", true);
    within_a_second("the way leads into the tunnel", || way_to_server(&pair.a) == both("mpt0"));
    // The key takes effect while the daemon runs, and the route into the tunnel is never away for it.
    let flood = Flood::start(&pair.a);
    for fallback in ["block", "direct", "block"] {
        configs[0].connection("tunnel").set("fallback", fallback);
        a.write_config(&configs[0]);
        a.request(Command::Reload).unwrap();
    }
    flood.assert_nothing_in_clear();
    a.kill();
    assert_eq!(way_to_server(&pair.a), [None, None]);
    a.start_again(&pair.a);
    a.wait_until_up();
    a.stop();
    before.wait_for(&pair.a);
    b.stop();
}

/// The peer's own address may lie in a network of the connection. A path that is bound to an interface goes on all the same.
#[test]
fn and_paths_bound_to_an_interface_reach_a_peer_within_the_network() {
    let (pair, mut configs) = hosts();
    let networks = vec!["10.72.0.2", "fd00:72::2", "10.64.0.0/10"];
    configs[0].connection("tunnel").set("networks", networks);
    let [a, _b] = pair.start(&configs);
    let before = a.packets_sent("tunnel");
    let mut ping = pair.a.namespace.command("ping").unwrap();
    let ping = ping.args(["-c", "20", "-i", "0.01", "-w", "5", "10.72.0.2"]).output().unwrap();
    let said = String::from_utf8_lossy(&ping.stdout);
    assert!(said.contains(" 0% packet loss"), "{ping:?}");
    let after = a.packets_sent("tunnel");
    assert!(after[1] > before[1], "the bound path carries none of them: {before:?}, {after:?}");
}
