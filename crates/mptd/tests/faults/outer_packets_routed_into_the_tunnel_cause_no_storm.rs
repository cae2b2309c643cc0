//! Routes that send the outer packets of a tunnel into that very tunnel.

use std::thread;
use std::time::Duration;

use crate::hosts::Pair;
use crate::hosts::traffic::send_numbered;
use crate::support::{wait_for_daemon_drop, wait_for_echo};

const DATAGRAMS: u64 = 500;

/// A route made by somebody else, which a rule of the daemon's own keeps away from its packets.
#[test]
fn by_a_route_they_are_not_misled() {
    let pair = Pair::with_lines(1);
    let [a, _b] = pair.start(&pair.configs());
    wait_for_echo(&pair.a, &pair.b);
    pair.a.ip("route add 10.71.1.2/32 dev mpt0");
    wait_for_echo(&pair.a, &pair.b);
    // Afterwards, not one of them.
    let before = a.show().daemon.drops.get("routing_loop").copied();
    wait_for_echo(&pair.a, &pair.b);
    assert_eq!(a.show().daemon.drops.get("routing_loop").copied(), before);
    let rules = pair.a.ip("rule");
    a.stop();
    assert_ne!(pair.a.ip("rule"), rules, "the rule went with the daemon");
}

/// The tunnel carries everything, the packets to its own other end's address included.
#[test]
fn by_a_tunnel_for_everything_they_are_not_misled() {
    let pair = Pair::with_lines(1);
    pair.b.add_address("lo", "10.70.0.2/32");
    pair.b.add_address("lo", "192.0.2.2/32");
    pair.a.ip("route add default via 10.71.1.2");
    let mut configs = pair.configs();
    configs[0].path("tunnel", "line1").set("remote", "10.70.0.2");
    configs[0].connection("tunnel").set("networks", vec!["0.0.0.0/1", "128.0.0.0/1"]);
    configs[1].path("tunnel", "line1").set("local", "10.70.0.2");
    let [a, b] = pair.start(&configs);
    wait_for_echo(&pair.a, &pair.b);
    let drops = a.show().daemon.drops;
    assert_eq!(drops["routing_loop"], 0, "{drops:?}");
    // Somewhere in the wide world.
    let [here, there] = [pair.a.udp("10.72.0.1:0"), pair.b.udp("192.0.2.2:0")];
    here.send_to(b"far", there.local_addr().unwrap()).unwrap();
    assert_eq!(there.recv_from(&mut [0; 8]).unwrap().0, 3);
    for daemon in [a, b] {
        daemon.stop();
    }
}

/// A rule that comes before ours: nothing can be done, so it is counted, once for each packet.
#[test]
fn by_a_rule_each_ends_in_the_counter() {
    let pair = Pair::with_lines(1);
    let [a, _b] = pair.start(&pair.configs());
    wait_for_echo(&pair.a, &pair.b);
    // Nobody else is to speak up.
    pair.a.sysctl("net/ipv6/conf/mpt0/disable_ipv6", "1");
    pair.a.ip("route add 10.71.1.2 dev mpt0 table 100");
    pair.a.ip("rule add pref 100 to 10.71.1.2 lookup 100");
    let before = a.packets_sent("tunnel")[0];
    let socket = pair.a.udp("10.72.0.1:0");
    send_numbered(&socket, "10.72.0.2:9".parse().unwrap(), 0..DATAGRAMS, 1200, 2000);
    wait_for_daemon_drop(&a, "routing_loop", DATAGRAMS);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(a.show().daemon.drops["routing_loop"], DATAGRAMS, "no storm");
    assert_eq!(a.packets_sent("tunnel")[0], before + DATAGRAMS, "no storm");
    pair.a.ip("rule del pref 100");
    wait_for_echo(&pair.a, &pair.b);
}
