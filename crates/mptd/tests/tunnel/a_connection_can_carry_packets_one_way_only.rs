//! `direction`: one end only sends, the other only receives.

use std::time::Duration;

use crate::hosts::traffic::{deliver, expect_silence, send_numbered};
use crate::hosts::{Pair, wait_for};

#[test]
fn a_connection_can_carry_packets_one_way_only() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    configs[0].connection("tunnel").set("direction", "send");
    configs[1].connection("tunnel").set("direction", "receive");
    let [_a, b] = pair.start(&configs);
    let (near, far) = (pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000"));
    deliver(&near, &far, 200);

    // The other way there is no route but that of the device's own network, and no connection that sends.
    send_numbered(&far, near.local_addr().unwrap(), 0..10, 100, 1000);
    let refused = wait_for("all ten are counted", || {
        let refused = b.daemon_drops("no_connection") + b.drops("tunnel", "direction");
        (refused >= 10).then_some(refused)
    });
    assert_eq!(refused, 10);
    expect_silence(&near, Duration::from_millis(50));
    assert_eq!(b.packets_sent("tunnel"), [0, 0]);
}

#[test]
fn an_end_that_only_sends_drops_what_arrives() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    configs[0].connection("tunnel").set("direction", "send");
    let [a, b] = pair.start(&configs);
    let (near, far) = (pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000"));
    deliver(&near, &far, 200);
    send_numbered(&far, near.local_addr().unwrap(), 0..10, 100, 1000);
    wait_for("all ten are counted", || (a.drops("tunnel", "direction") == 10).then_some(()));
    expect_silence(&near, Duration::from_millis(50));
    assert_eq!(b.packets_sent("tunnel"), [5, 5]);
    assert_eq!(a.connection("tunnel").received.packets, 0);
}
