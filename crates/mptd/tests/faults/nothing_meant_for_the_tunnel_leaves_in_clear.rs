//! No packet that is meant for the tunnel leaves by another way with a default route through the tunnel and `fallback = "block"`, its default,
//! whatever somebody does to rules, routes, the device or the daemon.

use std::thread;
use std::time::Duration;

use mpt_api::Command;

use crate::hosts::{Daemon, Pair, wait_for};
use crate::internet::{
    Flood, a_reload_changes_the_addresses, a_start_after_a_crash_fails, batch, both, daemon_routes,
    deletion, hosts, rules, unblock, way_to_server, within_a_second,
};
use crate::support::{Picture, wait_for_state};

/// Waits until datagrams to the server leave by the tunnel's device again.
fn wait_for_the_tunnel(pair: &Pair) {
    wait_for("the way leads into the tunnel", || {
        (way_to_server(&pair.a) == both("mpt0")).then_some(())
    });
}

#[test]
fn while_each_rule_is_removed_by_hand() {
    let (pair, configs) = hosts();
    let [a, _b] = pair.start(&configs);
    let flood = Flood::start(&pair.a);
    for version in ["-4", "-6"] {
        let before = rules(&pair.a, version);
        assert!(before.len() >= 2, "{before:?}");
        for rule in &before {
            pair.a.ip(&format!("{version} {}", deletion(rule)));
            let mut sorted = before.clone();
            sorted.sort();
            within_a_second(&format!("{version} {rule} is there again"), || {
                let mut now = rules(&pair.a, version);
                now.sort();
                now == sorted
            });
        }
    }
    wait_for_the_tunnel(&pair);
    let sent = flood.assert_nothing_in_clear();
    assert!(sent.iter().all(|&sent| sent > 100), "{sent:?}");
    assert!(a.log().contains("put back"), "{}", a.log());
}

#[test]
fn while_each_table_is_flushed() {
    let (pair, configs) = hosts();
    let [_a, _b] = pair.start(&configs);
    let routes = |version: &str| daemon_routes(&pair.a, version);
    let flood = Flood::start(&pair.a);
    for version in ["-4", "-6"] {
        let before = routes(version);
        let table = |line: &String| {
            let (_, table) = line.split_once(" table ")?;
            Some(table.split_whitespace().next()?.to_owned())
        };
        let mut tables: Vec<String> = before.iter().filter_map(table).collect();
        tables.dedup();
        assert!(!tables.is_empty(), "{before:?}");
        for table in tables {
            pair.a.ip(&format!("{version} route flush table {table}"));
            within_a_second(&format!("table {table} is full again"), || routes(version) == before);
        }
    }
    wait_for_the_tunnel(&pair);
    flood.assert_nothing_in_clear();
}

/// systemd-networkd does this when it starts: it removes every rule that it did not make, except those of the kernel.
#[test]
fn while_a_network_manager_removes_all_rules_at_once() {
    let (pair, configs) = hosts();
    let [_a, _b] = pair.start(&configs);
    let before = ["-4", "-6"].map(|version| rules(&pair.a, version));
    let flood = Flood::start(&pair.a);
    for _ in 0..5 {
        for version in ["-4", "-6"] {
            let shown = pair.a.ip(&format!("-details {version} rule"));
            let foreign = shown.lines().filter(|line| !line.contains("proto kernel"));
            batch(&pair.a, version, &foreign.map(deletion).collect::<Vec<_>>());
        }
        within_a_second("the rules are there again", || {
            let mut now = ["-4", "-6"].map(|version| rules(&pair.a, version));
            let mut before = before.clone();
            now.iter_mut().chain(&mut before).for_each(|rules| rules.sort());
            now == before
        });
    }
    wait_for_the_tunnel(&pair);
    flood.assert_nothing_in_clear();
}

#[test]
fn while_the_device_is_down_and_comes_up_again() {
    let (pair, configs) = hosts();
    let [_a, _b] = pair.start(&configs);
    let flood = Flood::start(&pair.a);
    pair.a.set_link("mpt0", false);
    assert_eq!(way_to_server(&pair.a), [None, None]);
    thread::sleep(Duration::from_millis(200));
    pair.a.set_link("mpt0", true);
    within_a_second("the way leads into the tunnel", || way_to_server(&pair.a) == both("mpt0"));
    within_a_second("the address that the kernel took away is there again", || {
        pair.a.ip("-6 addr show dev mpt0").contains("fd00:72::1/64")
    });
    flood.assert_nothing_in_clear();
}

#[test]
fn while_no_path_works() {
    let (pair, configs) = hosts();
    let [a, _b] = pair.start(&configs);
    let flood = Flood::start(&pair.a);
    // The first path loses its interface's address, and the second its carrier.
    pair.a.ip("addr del 10.71.1.1/24 dev line1");
    pair.b.set_link("line2", false);
    for line in ["line1", "line2"] {
        wait_for_state(&a, line, mpt_api::PathState::Down);
    }
    thread::sleep(Duration::from_millis(200));
    flood.assert_nothing_in_clear();
}

#[test]
fn after_a_crash_until_the_daemon_runs_again() {
    let (pair, configs) = hosts();
    let before = Picture::of(&pair.a);
    let [mut a, b] = pair.start(&configs);
    let flood = Flood::start(&pair.a);
    a.kill();
    assert_eq!(way_to_server(&pair.a), [None, None]);
    // A network with a route of its own is not meant for a tunnel.
    assert!(pair.a.ip("route get 10.71.1.2").contains("dev line1"));
    thread::sleep(Duration::from_millis(200));
    a.start_again(&pair.a);
    a.wait_until_up();
    wait_for_the_tunnel(&pair);
    flood.assert_nothing_in_clear();
    a.stop();
    before.wait_for(&pair.a);
    assert_eq!(way_to_server(&pair.a), both("line1"), "a clean end opens the way");
    b.stop();
}

#[test]
fn after_a_crash_when_the_next_start_fails() {
    a_start_after_a_crash_fails(hosts());
}

#[test]
fn when_somebody_removes_the_device() {
    let (pair, configs) = hosts();
    let [mut a, _b] = pair.start(&configs);
    let flood = Flood::start(&pair.a);
    pair.a.remove_link("mpt0");
    assert_eq!(a.wait_until_ended().code(), Some(1), "a daemon without its device ends");
    assert_eq!(way_to_server(&pair.a), [None, None]);
    flood.assert_nothing_in_clear();
}

#[test]
fn while_a_reload_changes_something_else() {
    a_reload_changes_the_addresses(hosts());
}

#[test]
fn until_a_command_opens_what_a_crash_has_blocked() {
    let (pair, configs) = hosts();
    let before = Picture::of(&pair.a);
    let [mut a, b] = pair.start(&configs);
    let said = unblock(&pair.a);
    assert!(said.contains("nothing"), "{said}");
    assert_eq!(way_to_server(&pair.a), both("mpt0"), "that of a running daemon stays");
    a.kill();
    assert_eq!(way_to_server(&pair.a), [None, None]);
    let said = unblock(&pair.a);
    assert!(said.contains("32765: not from all fwmark 0x6d7074 unreachable"), "{said}");
    before.wait_for(&pair.a);
    assert_eq!(way_to_server(&pair.a), both("line1"));
    b.stop();
}

/// Rules that are removed again and again come back each time, at a bounded rate, with one warning that says what to do.
#[test]
fn even_if_somebody_removes_the_rules_again_and_again() {
    let (pair, configs) = hosts();
    let [a, _b] = pair.start(&configs);
    let flood = Flood::start(&pair.a);
    let rule = |shown: &[String]| shown.iter().find(|rule| rule.starts_with("32764:")).cloned();
    let it = rule(&rules(&pair.a, "-4")).expect("the rule of the tunnel");
    let mut removed = 0;
    for _ in 0..40 {
        within_a_second("the rule is there again", || rule(&rules(&pair.a, "-4")).is_some());
        pair.a.ip(&format!("-4 {}", deletion(&it)));
        removed += 1;
    }
    within_a_second("the rule is there again", || rule(&rules(&pair.a, "-4")).is_some());
    wait_for_the_tunnel(&pair);
    flood.assert_nothing_in_clear();
    let log = a.log();
    let warnings = log.lines().filter(|line| line.contains("ManageForeignRoutingPolicyRules=no"));
    assert_eq!(warnings.count(), 1, "{log}");
    let lines = log.lines().filter(|line| line.contains("put back")).count();
    assert!(lines < 12, "{lines} lines about {removed} removals: {log}");
}

/// An end that is asked for opens the way; the daemon of another connection is none of its business.
#[test]
fn until_the_connection_is_deleted() {
    let (pair, configs) = hosts();
    let [a, _b] = pair.start(&configs);
    let mut without = configs[0].clone();
    without.connection("tunnel").set("networks", vec!["10.72.0.2", "fd00:72::2"]);
    a.write_config(&without);
    a.request(Command::Reload).unwrap();
    assert_eq!(way_to_server(&pair.a), both("line1"));
    drop::<Daemon>(a);
}
