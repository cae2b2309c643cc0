//! `mapping = "duplicate"`: while one path works nothing is lost, whether the loss of the other is noticed or not, and nothing arrives twice.

use std::thread;
use std::time::Duration;

use mpt_api::PathState;

use crate::hosts::traffic::{receive_numbered, send_numbered};
use crate::hosts::{Pair, wait_for};

const PACKETS: u64 = 1500;
const PER_SECOND: u32 = 1000;

#[test]
fn with_a_window() {
    check(16_384);
}

#[test]
fn without_a_window() {
    check(0);
}

fn check(window: i32) {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    for config in &mut configs {
        let connection = config.connection("tunnel");
        connection.set("mapping", "duplicate").set("window", window).set("max_delay", "50 ms");
    }
    let [a, b] = pair.start(&configs);
    let (source, sink) = (pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000"));
    let to = sink.local_addr().unwrap();
    let numbers = thread::scope(|scope| {
        scope.spawn(|| send_numbered(&source, to, 0..PACKETS, 200, PER_SECOND));
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            // Nobody is told.
            pair.a.tc("qdisc add dev line1 root blackhole");
            thread::sleep(Duration::from_millis(300));
            // The carrier is gone.
            pair.b.set_link("line1", false);
            thread::sleep(Duration::from_millis(300));
            pair.a.tc("qdisc del dev line1 root");
            pair.b.set_link("line1", true);
        });
        receive_numbered(&sink, PACKETS - 1, Duration::from_millis(300))
    });
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..PACKETS), "{} packets: {numbers:?}", numbers.len());

    wait_for("the path is back", || {
        (a.path("tunnel", "line1").state == PathState::Up).then_some(())
    });
    let sent = a.connection("tunnel");
    let [first, second] = [0, 1].map(|path: usize| sent.paths[path].sent.packets);
    assert_eq!((sent.sent.packets, second), (PACKETS, PACKETS));
    assert!((1..PACKETS).contains(&first), "{first}");
    let received = b.connection("tunnel");
    let copies: u64 = received.paths.iter().map(|path| path.received.packets).sum();
    assert_eq!(received.reorder.duplicate, copies - PACKETS);
    assert!(copies > PACKETS);
}
