//! Interfaces that vanish, return, and lose their carrier, under a TCP stream.

use mpt_api::{DownReason, PathState};

use crate::hosts::{Config, Pair, wait_for};
use crate::support::{Stream, wait_for_echo, wait_for_state, wait_for_use};

const ADDRESS: &str = "10.72.0.2:5001";

/// Lays the first line of a [`Pair`] again.
fn lay_line1(pair: &Pair) {
    let (a, b) = (["10.71.1.1/24", "fd00:71:1::1/64"], ["10.71.1.2/24", "fd00:71:1::2/64"]);
    pair.a.cable("line1", &a, (&pair.b, "line1", &b));
}

#[test]
fn known_by_its_address_it_comes_back() {
    vanish_and_return(|_| {});
}

#[test]
fn known_by_address_and_interface_it_comes_back() {
    vanish_and_return(|config| {
        config.path("tunnel", "line1").set("interface", "line1");
    });
}

#[test]
fn known_by_its_interface_it_comes_back() {
    vanish_and_return(|config| {
        config.path("tunnel", "line1").set("interface", "line1").unset("local");
    });
}

fn vanish_and_return(adjust: impl Fn(&mut Config)) {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    configs.iter_mut().for_each(adjust);
    let rules = pair.a.ip("rule");
    let [a, b] = pair.start(&configs);
    let ports = a.path("tunnel", "line1").source_ports;
    let stream = Stream::start(&pair.a, &pair.b, ADDRESS);
    stream.wait_for_progress();

    pair.a.remove_link("line1");
    for daemon in [&a, &b] {
        wait_for_state(daemon, "line1", PathState::Down);
        assert_eq!(daemon.path("tunnel", "line1").down, Some(DownReason::Interface));
    }
    stream.wait_for_progress();

    lay_line1(&pair);
    for daemon in [&a, &b] {
        wait_for_state(daemon, "line1", PathState::Up);
        wait_for_use(daemon, &["line1", "line2"]);
    }
    let received = b.path("tunnel", "line1").received.packets;
    stream.wait_for_progress();
    wait_for("packets arrive on the line again", || {
        (b.path("tunnel", "line1").received.packets > received + 20).then_some(())
    });
    assert_eq!(a.path("tunnel", "line1").source_ports, ports, "the path is still the same");
    stream.end();
    for daemon in [a, b] {
        assert!(!daemon.log().contains("ERROR"), "{}", daemon.log());
        daemon.stop();
    }
    assert_eq!(pair.a.ip("rule"), rules);
}

#[test]
fn without_carrier_it_is_down() {
    let pair = Pair::with_lines(2);
    let [a, b] = pair.start(&pair.configs());
    let stream = Stream::start(&pair.a, &pair.b, ADDRESS);
    for _ in 0..3 {
        pair.b.set_link("line1", false);
        for daemon in [&a, &b] {
            wait_for_state(daemon, "line1", PathState::Down);
        }
        stream.wait_for_progress();
        pair.b.set_link("line1", true);
        for daemon in [&a, &b] {
            wait_for_state(daemon, "line1", PathState::Up);
            wait_for_use(daemon, &["line1", "line2"]);
        }
    }
    stream.end();
}

#[test]
fn without_its_address_it_is_down() {
    let pair = Pair::with_lines(2);
    let [a, _b] = pair.start(&pair.configs());
    let stream = Stream::start(&pair.a, &pair.b, ADDRESS);
    pair.a.ip("addr del 10.71.1.1/24 dev line1");
    wait_for_state(&a, "line1", PathState::Down);
    stream.wait_for_progress();
    pair.a.ip("addr add 10.71.1.1/24 dev line1");
    wait_for_state(&a, "line1", PathState::Up);
    wait_for_use(&a, &["line1", "line2"]);
    stream.end();
}

#[test]
fn that_is_not_there_when_the_daemon_starts_it_is_waited_for() {
    let pair = Pair::with_lines(2);
    pair.a.remove_link("line1");
    let mut configs = pair.configs();
    for config in &mut configs {
        config.path("tunnel", "line1").set("interface", "line1");
    }
    let [a, b] = [(&pair.a, &configs[0]), (&pair.b, &configs[1])]
        .map(|(host, config)| crate::hosts::Daemon::start(host, config));
    for daemon in [&a, &b] {
        wait_for("it answers", || std::os::unix::net::UnixStream::connect(daemon.socket()).ok());
        wait_for_state(daemon, "line2", PathState::Up);
        wait_for_state(daemon, "line1", PathState::Down);
    }
    wait_for_echo(&pair.a, &pair.b);
    lay_line1(&pair);
    for daemon in [&a, &b] {
        wait_for_state(daemon, "line1", PathState::Up);
    }
    let stream = Stream::start(&pair.a, &pair.b, ADDRESS);
    wait_for_use(&a, &["line1", "line2"]);
    stream.end();
}
