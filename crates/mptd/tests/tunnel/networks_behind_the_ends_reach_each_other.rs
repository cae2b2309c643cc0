//! Site to site: hosts behind either end talk to each other, and after SIGTERM the system is what it was before.

use crate::hosts::traffic::{deliver, tcp_both_ways};
use crate::hosts::{Host, Pair};

#[test]
fn networks_behind_the_ends_reach_each_other() {
    let pair = Pair::with_lines(2);
    let [near, far] = [behind(&pair.a, 1), behind(&pair.b, 2)];
    let before = pair.hosts().map(state);
    let mut configs = pair.configs();
    for (end, config) in (1..).zip(&mut configs) {
        let peer = 3 - end;
        let networks = [
            format!("10.72.0.{peer}"),
            format!("192.168.{peer}.0/24"),
            format!("fd00:72::{peer}"),
            format!("fd00:168:{peer}::/64"),
        ];
        config.connection("tunnel").set("networks", networks.to_vec());
    }
    let daemons = pair.start(&configs);
    let routes = pair.a.ip("route show proto 109");
    let routes: Vec<_> = routes.lines().map(str::trim).collect();
    let expected = ["10.72.0.2", "192.168.2.0/24"];
    assert_eq!(routes, expected.map(|net| format!("{net} dev mpt0 scope link src 10.72.0.1")));

    for [here, there] in
        [["192.168.1.9:5000", "192.168.2.9:5000"], ["[fd00:168:1::9]:5000", "[fd00:168:2::9]:5000"]]
    {
        let (here, across) = (near.udp(here), far.udp(there));
        deliver(&here, &across, 100);
        deliver(&across, &here, 100);
        tcp_both_ways(&near, &far, there, 500_000);
    }
    for daemon in daemons {
        daemon.stop();
    }
    for (after, before) in pair.hosts().map(state).iter().zip(before) {
        for (after, before) in after.iter().zip(before) {
            assert_eq!(*after, before);
        }
    }
}

/// A host behind one of the ends, which forwards for it.
fn behind(end: &Host, number: u8) -> Host {
    let host = Host::new("behind");
    let gateway = [format!("192.168.{number}.1/24"), format!("fd00:168:{number}::1/64")];
    let own = [format!("192.168.{number}.9/24"), format!("fd00:168:{number}::9/64")];
    end.cable("lan", &[&gateway[0], &gateway[1]], (&host, "eth0", &[&own[0], &own[1]]));
    host.ip(&format!("route add default via 192.168.{number}.1"));
    host.ip(&format!("-6 route add default via fd00:168:{number}::1"));
    end.sysctl("net/ipv4/ip_forward", "1");
    end.sysctl("net/ipv6/conf/all/forwarding", "1");
    host
}

/// Everything a daemon may change. What is about link-local addresses is the kernel's, which may be at it still.
fn state(host: &Host) -> [Vec<String>; 5] {
    let commands = [
        "-br link show type tun",
        "-o addr show scope global",
        "route show table all",
        "rule show",
        "-6 rule show",
    ];
    commands.map(|command| {
        let output = host.ip(command);
        output.lines().filter(|line| !line.contains("fe80:")).map(str::to_owned).collect()
    })
}
