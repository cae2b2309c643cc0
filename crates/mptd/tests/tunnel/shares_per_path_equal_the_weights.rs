//! Algorithm 1 on real wires: over whole rounds of the schedule the shares are exact.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::hosts::traffic::deliver;
use crate::hosts::{Capture, Line, Pair};

#[test]
fn three_to_one_to_one() {
    check(&[3, 1, 1], 200);
}

#[test]
fn ninety_four_to_one_hundred_and_twenty_one() {
    check(&[94, 121], 4);
}

fn check(weights: &[u32], rounds: u64) {
    let pair = Pair::new(&vec![Line::plain(); weights.len()]);
    let mut configs = pair.configs();
    for config in &mut configs {
        for (line, &weight) in (1..).zip(weights) {
            config.path("tunnel", &format!("line{line}")).set("weight", weight);
        }
    }
    let [a, b] = pair.start(&configs);
    let capture = Capture::start(&pair.a);
    let total = weights.iter().copied().map(u64::from).sum::<u64>() * rounds;
    deliver(&pair.a.udp("10.72.0.1:5000"), &pair.b.udp("10.72.0.2:5000"), total);

    let expected: Vec<_> = weights.iter().map(|&weight| u64::from(weight) * rounds).collect();
    assert_eq!(a.packets_sent("tunnel"), expected);
    let received = b.connection("tunnel").paths;
    let received: Vec<_> = received.iter().map(|path| path.received.packets).collect();
    assert_eq!(received, expected);

    let mut captured = BTreeMap::<IpAddr, u64>::new();
    for datagram in capture.sent() {
        *captured.entry(datagram.destination.ip()).or_default() += 1;
    }
    let lines = (1..).map(|line| IpAddr::from([10, 71, line, 2]));
    assert_eq!(captured, lines.zip(expected).collect());
}
