//! The host is as it was before, however the daemon ends or fails to start.

use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::hosts::{Config, Daemon, Host, PATIENCE, Pair};
use crate::support::{Picture, wait_for_echo};

/// Two lines to the same address, so that a rule is needed; and a network behind the other end.
fn config(pair: &Pair) -> Config {
    pair.b.add_address("lo", "10.70.0.2/32");
    for (host, peer) in [(&pair.a, 2), (&pair.b, 1)] {
        for key in ["all", "line1", "line2"] {
            host.sysctl(&format!("net/ipv4/conf/{key}/rp_filter"), "0");
        }
        for line in 1..=2 {
            let via = format!("10.71.{line}.{peer} dev line{line} metric {line}");
            host.ip(&format!("route add 10.70.0.2/32 via {via}"));
        }
    }
    let mut config = pair.configs()[0].clone();
    for line in ["line1", "line2"] {
        config.path("tunnel", line).set("remote", "10.70.0.2");
    }
    let networks = ["10.72.0.2", "fd00:72::2", "10.80.0.0/16", "fd00:80::/32"].map(String::from);
    config.connection("tunnel").set("networks", networks.to_vec());
    config
}

fn assert_busy(host: &Host, before: &Picture) {
    assert_ne!(Picture::of(host), *before, "the daemon has made something");
    assert!(host.ip("-4 rule").contains("10.70.0.2"), "a rule for the second line");
    assert!(host.ip("-4 route").contains("10.80.0.0/16"), "a route to the network behind");
    assert!(host.ip("-6 route").contains("fd00:80::/32"), "the same for IPv6");
}

#[test]
fn sigterm_and_sigint_remove_exactly_what_was_made() {
    let pair = Pair::with_lines(2);
    let config = config(&pair);
    // These belong to other programs and look like those of mptd.
    pair.a.ip("route add 10.81.0.0/16 via 10.71.1.2");
    pair.a.ip("rule add pref 4754 from 10.71.1.1 to 10.99.0.1 lookup 99");
    pair.a.ip("route add 10.99.0.1 dev line1 table 99");
    pair.a.ip("addr add 10.73.0.1/24 dev line1");
    let before = Picture::of(&pair.a);
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut daemon = Daemon::start(&pair.a, &config);
        daemon.wait_until_up();
        assert_busy(&pair.a, &before);
        let socket = daemon.socket();
        assert!(socket.exists());
        daemon.signal(signal);
        assert!(daemon.wait_until_ended().success(), "{}", daemon.log());
        before.wait_for(&pair.a);
        assert!(!socket.exists());
        assert!(!daemon.log().contains("ERROR"), "{}", daemon.log());
    }
}

#[test]
fn what_a_killed_daemon_left_is_taken_over_by_the_next() {
    let pair = Pair::with_lines(2);
    let config = config(&pair);
    let before = Picture::of(&pair.a);
    let mut killed = Daemon::start(&pair.a, &config);
    killed.wait_until_up();
    killed.signal(Signal::SIGKILL);
    assert!(!killed.wait_until_ended().success());
    assert!(killed.socket().exists(), "nobody was left to remove it");
    // The same daemon again: same files, same socket.
    killed.start_again(&pair.a);
    killed.wait_until_up();
    assert_busy(&pair.a, &before);
    killed.stop();
    before.wait_for(&pair.a);
}

#[test]
fn a_killed_daemon_and_its_peer_find_together_again() {
    let pair = Pair::with_lines(2);
    let [mut a, b] = pair.start(&pair.configs());
    wait_for_echo(&pair.a, &pair.b);
    a.signal(Signal::SIGKILL);
    a.wait_until_ended();
    a.start_again(&pair.a);
    a.wait_until_up();
    wait_for_echo(&pair.a, &pair.b);
    a.stop();
    b.stop();
}

#[test]
fn a_device_that_exists_is_not_joined() {
    let pair = Pair::with_lines(1);
    pair.a.ip("tuntap add mpt0 mode tun");
    pair.a.ip("addr add 10.60.0.1/24 dev mpt0");
    refused(&pair.a, &pair.configs()[0], &["device mpt0 exists already"]);
}

#[test]
fn one_of_two_devices_that_exists_is_enough_to_refuse() {
    let pair = Pair::with_lines(1);
    pair.a.ip("tuntap add mpt1 mode tun");
    let mut config = pair.configs()[0].clone();
    config.connection("tunnel").set("device", "mpt0");
    config.device("mpt1").set("addresses", vec!["10.61.0.1/24"]);
    refused(&pair.a, &config, &["device mpt1 exists already"]);
}

#[test]
fn an_address_in_use_is_named_with_connection_and_path() {
    let pair = Pair::with_lines(2);
    let _other = pair.a.udp("10.71.2.1:4754");
    let named = ["tunnel", "line2", "10.71.2.1:4754", "in use"];
    refused(&pair.a, &pair.configs()[0], &named);
}

#[test]
fn a_route_that_exists_is_not_replaced() {
    let pair = Pair::with_lines(1);
    pair.a.ip("route add 10.80.0.0/16 via 10.71.1.2");
    let mut config = pair.configs()[0].clone();
    let networks = ["10.72.0.2", "10.80.0.0/16"].map(String::from);
    config.connection("tunnel").set("networks", networks.to_vec());
    refused(&pair.a, &config, &["10.80.0.0/16"]);
}

#[test]
fn a_control_socket_in_use_is_left_to_its_owner() {
    let pair = Pair::with_lines(1);
    let first = {
        let mut daemon = Daemon::start(&pair.a, &pair.configs()[0]);
        daemon.wait_until_up();
        daemon
    };
    let before = Picture::of(&pair.a);
    let mut second = pair.a.namespace.command(env!("CARGO_BIN_EXE_mptd")).unwrap();
    let second = second.arg("--config").arg(first.config_file()).output().unwrap();
    let log = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{log}");
    assert!(log.contains("already running"), "{log}");
    assert!(log.contains(first.socket().to_str().unwrap()), "{log}");
    before.wait_for(&pair.a);
    assert_eq!(first.show().daemon.pid, first.pid(), "the first still answers");
    first.stop();
}

#[test]
fn a_control_socket_of_another_program_is_no_daemon() {
    let pair = Pair::with_lines(1);
    let before = Picture::of(&pair.a);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let config = directory.path().join("mpt.toml");
    std::fs::write(&config, pair.configs()[0].text(&path)).unwrap();
    let mut command = pair.a.namespace.command(env!("CARGO_BIN_EXE_mptd")).unwrap();
    let output = command.arg("--config").arg(&config).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    before.wait_for(&pair.a);
    assert!(path.exists(), "it is not ours to remove");
}

/// Starts it and expects that it ends at once with code 1, names all these, and leaves the host as it was.
fn refused(host: &Host, config: &Config, named: &[&str]) {
    let before = Picture::of(host);
    let output = Daemon::run_to_end(host, config);
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{log}");
    for name in named {
        assert!(log.contains(name), "no {name:?} in: {log}");
    }
    before.wait_for(host);
    // And nothing comes later.
    thread::sleep(Duration::from_millis(50).min(PATIENCE));
    before.wait_for(host);
}
