//! Internet through the other end: everything goes into the tunnel but its own outer packets.

use std::time::Duration;

use mpt_api::Command;
use nix::sys::signal::Signal;

use crate::hosts::{Capture, Daemon, Pair, wait_for};
use crate::internet::{SERVER, both, hosts, way_to_server};
use crate::support::{Picture, Stream, wait_for_use};

/// Streams by both versions reach the server through the tunnel, and nothing but outer packets passes the lines.
fn assert_through_the_tunnel(pair: &Pair, a: &Daemon) {
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    let capture = Capture::start(&pair.a);
    for address in [format!("{}:5001", SERVER[0]), format!("[{}]:5001", SERVER[1])] {
        let stream = Stream::start(&pair.a, &pair.b, &address);
        stream.wait_for_progress();
        wait_for_use(a, &["line1", "line2"]);
        stream.end();
    }
    let lines = ["line1", "line2"].map(|line| pair.a.index(line));
    let mut outer = [0; 2];
    for packet in capture.stop().iter().filter(|it| it.outgoing) {
        let to_peer = packet.packet[0] >> 4 == 4 && packet.packet[16..20] == [10, 70, 0, 2];
        match lines.iter().position(|line| *line == packet.index) {
            Some(line) if to_peer => outer[line] += 1,
            // Neighbours and multicast listeners talk by IPv6 packets, too.
            Some(_) => assert!(packet.packet[24] == 0xff || packet.packet[6] == 58, "{packet:?}"),
            None => assert!(!to_peer, "an outer packet entered the tunnel: {packet:?}"),
        }
    }
    assert!(outer[0] > 5 && outer[1] > 5, "{outer:?}");
}

#[test]
fn and_everything_is_as_before_when_the_daemon_ends() {
    let (pair, configs) = hosts();
    let before = Picture::of(&pair.a);
    let [a, b] = pair.start(&configs);
    assert_through_the_tunnel(&pair, &a);
    // A network with a route of its own is reached by that route.
    assert!(pair.a.ip("route get 10.71.1.2").contains("dev line1"));
    a.stop();
    before.wait_for(&pair.a);
    b.stop();
}

#[test]
fn and_outer_packets_stay_out_of_it_when_routes_change() {
    let (pair, configs) = hosts();
    let [a, _b] = pair.start(&configs);
    assert_through_the_tunnel(&pair, &a);
    // The default routes go and come back: meanwhile the outer packets have nowhere to go, least of all into the tunnel.
    let capture = Capture::start(&pair.a);
    for line in 1..=2 {
        pair.a.ip(&format!("route del default dev line{line}"));
    }
    let socket = pair.a.udp("10.72.0.1:0");
    for _ in 0..50 {
        let _ = socket.send_to(b"x", "10.72.0.2:9");
        std::thread::sleep(Duration::from_millis(2));
    }
    let device = pair.a.index("mpt0");
    let captured = capture.stop();
    let inner = captured.iter().filter(|it| it.index == device && it.packet[0] >> 4 == 4);
    let looped = inner.filter(|it| it.packet[16..20] == [10, 70, 0, 2]).count();
    assert_eq!(looped, 0, "outer packets in the tunnel");
    for line in 1..=2 {
        pair.a.ip(&format!("route add default via 10.71.{line}.2 dev line{line} metric {line}"));
    }
    assert_through_the_tunnel(&pair, &a);
}

#[test]
fn and_a_killed_daemon_leaves_nothing_wrong() {
    let (pair, mut configs) = hosts();
    configs[0].connection("tunnel").set("fallback", "direct");
    let before = Picture::of(&pair.a);
    let [mut a, b] = pair.start(&configs);
    assert_through_the_tunnel(&pair, &a);
    a.signal(Signal::SIGKILL);
    a.wait_until_ended();
    assert_eq!(way_to_server(&pair.a), both("line1"), "as without a tunnel");
    a.start_again(&pair.a);
    a.wait_until_up();
    assert_through_the_tunnel(&pair, &a);
    a.stop();
    before.wait_for(&pair.a);
    b.stop();
}

#[test]
fn and_comes_and_goes_with_a_reload() {
    let (pair, configs) = hosts();
    let mut without = configs[0].clone();
    without.connection("tunnel").set("networks", vec!["10.72.0.2", "fd00:72::2"]);
    let [a, _b] = pair.start(&[without.clone(), configs[1].clone()]);
    assert_eq!(way_to_server(&pair.a), both("line1"));
    let ports =
        |daemon: &Daemon| ["line1", "line2"].map(|it| daemon.path("tunnel", it).source_ports);
    let before = ports(&a);
    for _ in 0..2 {
        a.write_config(&configs[0]);
        a.request(Command::Reload).unwrap();
        assert_through_the_tunnel(&pair, &a);
        a.write_config(&without);
        a.request(Command::Reload).unwrap();
        assert_eq!(way_to_server(&pair.a), both("line1"));
    }
    assert_eq!(ports(&a), before, "the sockets are the same");
}

#[test]
fn and_is_there_again_when_the_device_was_set_down_and_up() {
    let (pair, configs) = hosts();
    let [a, _b] = pair.start(&configs);
    pair.a.set_link("mpt0", false);
    assert_eq!(way_to_server(&pair.a), [None, None]);
    pair.a.set_link("mpt0", true);
    wait_for("the routes are there again", || {
        (way_to_server(&pair.a) == both("mpt0")).then_some(())
    });
    wait_for("and the address that the kernel took away", || {
        pair.a.ip("-6 addr show dev mpt0").contains("fd00:72::1/64").then_some(())
    });
    assert_through_the_tunnel(&pair, &a);
}
