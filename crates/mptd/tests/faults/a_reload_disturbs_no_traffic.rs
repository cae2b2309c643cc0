//! The configuration changes under a TCP stream, which notices nothing.

use mpt_api::{Command, PathChange, Reply};
use nix::sys::signal::Signal;

use crate::hosts::{Config, Daemon, Pair, wait_for};
use crate::support::{Picture, Stream, wait_for_use};

const ADDRESS: &str = "10.72.0.2:5001";

/// Applies a file by the control socket or, in its absence of an answer, by a signal.
fn reload(daemon: &Daemon, config: &Config, by_signal: bool) {
    daemon.write_config(config);
    if by_signal {
        let before = daemon.log().matches("reloaded").count();
        daemon.signal(Signal::SIGHUP);
        wait_for("mptd has reloaded", || {
            (daemon.log().matches("reloaded").count() > before).then_some(())
        });
    } else {
        match daemon.request(Command::Reload) {
            Ok(Reply::Reloaded(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn ports(daemon: &Daemon, path: &str) -> Vec<u16> {
    daemon.path("tunnel", path).source_ports
}

#[test]
fn whatever_is_changed_by_the_control_socket() {
    check(false);
}

#[test]
fn whatever_is_changed_by_sighup() {
    check(true);
}

fn check(by_signal: bool) {
    let pair = Pair::with_lines(3);
    let mut configs = pair.configs();
    for config in &mut configs {
        config.remove("tunnel", Some("line3"));
    }
    let [a, b] = pair.start(&configs);
    let before = Picture::of(&pair.a);
    let kept = [ports(&a, "line1"), ports(&b, "line1")];
    let stream = Stream::start(&pair.a, &pair.b, ADDRESS);
    stream.wait_for_progress();

    // Other weights.
    configs[0].path("tunnel", "line1").set("weight", 30);
    configs[0].path("tunnel", "line2").set("weight", 10);
    reload(&a, &configs[0], by_signal);
    let sent = a.packets_sent("tunnel");
    wait_for_use(&a, &["line1", "line2"]);
    let now = a.packets_sent("tunnel");
    let (first, second) = (now[0] - sent[0], now[1] - sent[1]);
    // Both counters are of one moment, and the schedule deviates by less than one packet per path.
    assert!(first.abs_diff(3 * second) <= 6, "{first} to {second}");

    // A path comes at both ends.
    for (daemon, (config, end)) in [&a, &b].into_iter().zip(configs.iter_mut().zip(1..)) {
        config.lay_path("tunnel", 3, end).set("weight", if end == 1 { 20 } else { 1 });
        reload(daemon, config, by_signal);
    }
    wait_for_use(&a, &["line1", "line2", "line3"]);
    wait_for_use(&b, &["line1", "line2", "line3"]);
    let line3 = ports(&a, "line3");

    // Another goes: first out of use at both ends, then away.
    for daemon in [&a, &b] {
        daemon.set_path("tunnel", "line2", PathChange { up: Some(false), ..PathChange::default() });
    }
    for (daemon, config) in [&a, &b].into_iter().zip(&mut configs) {
        config.remove("tunnel", Some("line2"));
        reload(daemon, config, by_signal);
    }
    wait_for_use(&a, &["line1", "line3"]);
    assert_eq!(a.packets_sent("tunnel").len(), 2);

    // A connection comes and carries, and goes.
    let without = configs.clone();
    for (daemon, (config, end)) in [&a, &b].into_iter().zip(configs.iter_mut().zip(1_u8..)) {
        let peer = 3 - end;
        config.connection("second").set("networks", vec![format!("10.74.0.{peer}")]).set("key", 2);
        config.lay_path("second", 1, end);
        let addresses = [
            format!("10.72.0.{end}/24"),
            format!("fd00:72::{end}/64"),
            format!("10.74.0.{end}/24"),
        ];
        config.device("mpt0").set("addresses", addresses.to_vec());
        reload(daemon, config, by_signal);
    }
    let other = Stream::start(&pair.a, &pair.b, "10.74.0.2:5001");
    other.wait_for_progress();
    other.end();
    for (daemon, config) in [&a, &b].into_iter().zip(&without) {
        reload(daemon, config, by_signal);
    }

    stream.wait_for_progress();
    stream.end();
    assert_eq!([ports(&a, "line1"), ports(&b, "line1")], kept, "a path keeps its port");
    assert_eq!(ports(&a, "line3"), line3);
    for daemon in [&a, &b] {
        let reorder = daemon.connection("tunnel").reorder;
        assert_eq!((reorder.stray, reorder.duplicate, reorder.overflow), (0, 0, 0), "{reorder:?}");
    }
    before.wait_for(&pair.a);
    for daemon in [a, b] {
        daemon.stop();
    }
}

#[test]
fn how_packets_are_received_changes_in_flight() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let [a, b] = pair.start(&configs);
    let stream = Stream::start(&pair.a, &pair.b, ADDRESS);
    stream.wait_for_progress();
    for (key, value) in [("window", 100), ("window", 0), ("window", 65_535)] {
        configs[1].connection("tunnel").set(key, value);
        reload(&b, &configs[1], false);
        stream.wait_for_progress();
        assert_eq!(i64::from(b.connection("tunnel").reorder.window), value);
    }
    for mapping in ["flow", "duplicate", "packet"] {
        configs[0].connection("tunnel").set("mapping", mapping);
        reload(&a, &configs[0], false);
        stream.wait_for_progress();
    }
    for end in [true, false] {
        // The checksum is verified wherever there is one.
        for (daemon, config) in [&a, &b].into_iter().zip(&mut configs) {
            config.connection("tunnel").set("checksum", end).set("udp_checksum", !end);
            reload(daemon, config, false);
        }
        stream.wait_for_progress();
    }
    stream.end();
}

#[test]
fn what_is_logged_changes_at_once() {
    let pair = Pair::with_lines(1);
    let mut config = pair.configs()[0].clone();
    let mut a = Daemon::start(&pair.a, &config);
    a.wait_until_up();
    let requests = || a.log().matches("reload by command").count();
    reload(&a, &config, false);
    assert_eq!(requests(), 1);
    config.daemon().set("log", "warn");
    reload(&a, &config, false);
    assert_eq!(requests(), 2, "that one was still at the old level");
    reload(&a, &config, false);
    assert_eq!(requests(), 2);
    config.daemon().set("log", "info");
    reload(&a, &config, false);
    reload(&a, &config, false);
    assert_eq!(requests(), 3);
}

#[test]
fn a_path_moves_to_another_interface_or_port() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let [a, b] = pair.start(&configs);
    let stream = Stream::start(&pair.a, &pair.b, ADDRESS);
    stream.wait_for_progress();
    // NATs and firewalls on the way know the path by its source port.
    let ports = a.path("tunnel", "line1").source_ports;
    let same_port = |a: &Daemon| assert_eq!(a.path("tunnel", "line1").source_ports, ports);
    configs[0].path("tunnel", "line1").set("interface", "line1");
    reload(&a, &configs[0], false);
    same_port(&a);
    wait_for_use(&a, &["line1", "line2"]);
    stream.wait_for_progress();
    configs[0].path("tunnel", "line1").unset("local");
    reload(&a, &configs[0], false);
    same_port(&a);
    wait_for_use(&a, &["line1", "line2"]);
    stream.wait_for_progress();
    configs[0].path("tunnel", "line1").unset("interface").set("local", "10.71.1.1");
    reload(&a, &configs[0], false);
    same_port(&a);
    wait_for_use(&a, &["line1", "line2"]);
    // The two ends cannot do this at the same moment; the stream lives on what the other path carries.
    configs[0].path("tunnel", "line1").set("remote_port", 6000);
    configs[1].path("tunnel", "line1").set("local_port", 6000);
    let there = b.path("tunnel", "line1").source_ports;
    reload(&b, &configs[1], false);
    reload(&a, &configs[0], false);
    same_port(&a);
    assert_eq!(b.path("tunnel", "line1").source_ports, there, "it listens on another port");
    wait_for_use(&a, &["line1", "line2"]);
    stream.wait_for_progress();
    stream.end();
}
