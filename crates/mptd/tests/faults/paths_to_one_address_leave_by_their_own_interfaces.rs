//! Two paths to the same remote address, which the routing table would send out of one interface.

use mpt_api::PathState;

use crate::hosts::{Capture, Config, Daemon, Host, Pair, wait_for};
use crate::support::{Stream, wait_for_echo, wait_for_state, wait_for_use};

/// One address of `b`, reached over every line, but by the routing table over the first.
fn configs(pair: &Pair) -> [Config; 2] {
    pair.b.add_address("lo", "10.70.0.2/32");
    for host in pair.hosts() {
        for key in ["all", "line1", "line2"] {
            host.sysctl(&format!("net/ipv4/conf/{key}/rp_filter"), "0");
        }
    }
    for line in 1..=2 {
        route(&pair.a, line);
    }
    let mut configs = pair.configs();
    for line in ["line1", "line2"] {
        configs[0].path("tunnel", line).set("remote", "10.70.0.2");
        configs[1].path("tunnel", line).set("local", "10.70.0.2");
    }
    configs
}

fn route(host: &Host, line: u32) {
    host.ip(&format!("route add 10.70.0.2 via 10.71.{line}.2 dev line{line} metric {line}"));
}

/// Half of the packets leave by each, with its address.
fn assert_each_by_its_own(pair: &Pair) {
    let capture = Capture::start(&pair.a);
    wait_for_echo(&pair.a, &pair.b);
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    stream.wait_for_progress();
    stream.end();
    let captured = capture.stop();
    let mut counts = [0_usize; 2];
    for packet in captured.iter().filter(|it| it.outgoing && it.packet[0] == 0x45) {
        let (source, destination) = (&packet.packet[12..16], &packet.packet[16..20]);
        if destination == [10, 70, 0, 2] {
            let line = usize::from(source[2]);
            assert_eq!(packet.index, pair.a.index(&format!("line{line}")), "{packet:?}");
            counts[line - 1] += 1;
        }
    }
    // Super-packets, each of many.
    assert!(counts[0] > 5 && counts[1] > 5, "{counts:?}");
}

#[test]
fn and_rules_of_others_stay() {
    let pair = Pair::with_lines(2);
    let configs = configs(&pair);
    pair.a.ip("rule add pref 4754 from 10.71.1.1 to 10.99.0.1 lookup 99");
    pair.a.ip("rule add pref 20000 from all lookup main");
    let rules = pair.a.ip("rule");
    let [a, b] = pair.start(&configs);
    assert_each_by_its_own(&pair);
    let with_ours = pair.a.ip("rule");
    for rule in rules.lines() {
        assert!(with_ours.contains(rule), "{rule} is gone from {with_ours}");
    }
    for daemon in [a, b] {
        daemon.stop();
    }
    assert_eq!(pair.a.ip("rule"), rules);
}

#[test]
fn also_when_an_interface_comes_after_the_daemon() {
    let pair = Pair::with_lines(2);
    let configs = configs(&pair);
    pair.a.remove_link("line2");
    let [mut a, mut b] =
        [(&pair.a, &configs[0]), (&pair.b, &configs[1])].map(|(host, it)| Daemon::start(host, it));
    wait_for("mptd answers", || std::os::unix::net::UnixStream::connect(a.socket()).ok());
    wait_for_state(&a, "line2", PathState::Down);
    pair.a.cable("line2", &["10.71.2.1/24"], (&pair.b, "line2", &["10.71.2.2/24"]));
    for host in pair.hosts() {
        host.sysctl("net/ipv4/conf/line2/rp_filter", "0");
    }
    route(&pair.a, 2);
    a.wait_until_up();
    b.wait_until_up();
    wait_for_use_of_both(&pair, &a);
    assert_each_by_its_own(&pair);
    // And again: new index, same name.
    pair.a.remove_link("line2");
    wait_for_state(&a, "line2", PathState::Down);
    pair.a.cable("line2", &["10.71.2.1/24"], (&pair.b, "line2", &["10.71.2.2/24"]));
    for host in pair.hosts() {
        host.sysctl("net/ipv4/conf/line2/rp_filter", "0");
    }
    route(&pair.a, 2);
    a.wait_until_up();
    b.wait_until_up();
    wait_for_use_of_both(&pair, &a);
    assert_each_by_its_own(&pair);
}

fn wait_for_use_of_both(pair: &Pair, daemon: &Daemon) {
    wait_for("the rule is there", || {
        pair.a.ip("rule").contains("from 10.71.2.1 to 10.70.0.2").then_some(())
    });
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    wait_for_use(daemon, &["line1", "line2"]);
    stream.end();
}
