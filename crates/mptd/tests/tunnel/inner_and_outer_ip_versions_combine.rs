//! IPv4 and IPv6 inside, IPv4, IPv6 and both outside.

use crate::hosts::traffic::{deliver, tcp_both_ways};
use crate::hosts::{Capture, Line, Pair};

#[test]
fn both_in_ipv4() {
    check([false, false], 1464);
}

#[test]
fn both_in_ipv6() {
    check([true, true], 1444);
}

#[test]
fn both_over_one_path_of_each() {
    check([false, true], 1444);
}

/// `outer_v6`: for each of two lines, whether its path is by IPv6.
fn check(outer_v6: [bool; 2], mtu: u16) {
    let pair = Pair::new(&[Line::plain(); 2]);
    let mut configs = pair.configs();
    for (end, config) in (1..).zip(&mut configs) {
        for (line, _) in (1..).zip(outer_v6).filter(|(_, v6)| *v6) {
            config.lay_path_v6("tunnel", line, end);
        }
    }
    let [a, b] = pair.start(&configs);
    let capture = Capture::start(&pair.a);
    for [here, there] in
        [["10.72.0.1:5000", "10.72.0.2:5000"], ["[fd00:72::1]:5000", "[fd00:72::2]:5000"]]
    {
        let (here, far) = (pair.a.udp(here), pair.b.udp(there));
        deliver(&here, &far, 100);
        deliver(&far, &here, 100);
        tcp_both_ways(&pair.a, &pair.b, there.replace("5000", "5001").as_str(), 500_000);
    }
    for daemon in [&a, &b] {
        let snapshot = daemon.show();
        assert_eq!((snapshot.devices[0].mtu, snapshot.connections[0].mtu), (mtu, mtu));
        assert_eq!(snapshot.connections[0].drops["too_big"], 0);
    }
    assert!(pair.a.ip("link show mpt0").contains(&format!("mtu {mtu} ")));

    // Every combination was on the wire, and nothing larger than the line takes.
    let sent = capture.sent();
    for (line, v6) in (1..).zip(outer_v6) {
        for inner in [4, 6] {
            let here = if v6 { format!("fd00:71:{line}::1") } else { format!("10.71.{line}.1") };
            let number = sent.iter().filter(|datagram| {
                datagram.source.ip().to_string() == here && datagram.inner[0] >> 4 == inner
            });
            assert!(number.count() > 100, "IPv{inner} from {here}");
        }
    }
    assert!(sent.iter().all(|datagram| datagram.inner.len() <= usize::from(mtu)));
    assert!(sent.iter().any(|datagram| datagram.inner.len() == usize::from(mtu)));
}
