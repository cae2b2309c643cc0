//! `mapping = "duplicate"`: while one path works nothing is lost, whether the loss of the other is noticed or not, and nothing arrives twice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mpt_api::PathState;

use crate::hosts::traffic::{receive_until_quiet, send_numbered};
use crate::hosts::{Pair, wait_for};

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
    let wait = |state| {
        wait_for("the carrier is noticed", || {
            (a.path("tunnel", "line1").state == state).then_some(())
        });
    };
    let (source, sink) = (pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000"));
    let to = sink.local_addr().unwrap();
    let done = AtomicBool::new(false);
    let (sent, mut numbers) = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut sent = 0;
            while !done.load(Ordering::Relaxed) {
                send_numbered(&source, to, sent..sent + 100, 200, 1000);
                sent += 100;
            }
            sent
        });
        let receiver = scope.spawn(|| receive_until_quiet(&sink, Duration::from_secs(1)));
        thread::sleep(Duration::from_millis(200));
        // Nobody is told.
        pair.a.tc("qdisc add dev line1 root blackhole");
        thread::sleep(Duration::from_millis(200));
        // The carrier is gone.
        pair.b.set_link("line1", false);
        wait(PathState::Down);
        thread::sleep(Duration::from_millis(200));
        pair.a.tc("qdisc del dev line1 root");
        pair.b.set_link("line1", true);
        wait(PathState::Up);
        thread::sleep(Duration::from_millis(200));
        done.store(true, Ordering::Relaxed);
        (sender.join().unwrap(), receiver.join().unwrap())
    });
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..sent), "{} of {sent}: {numbers:?}", numbers.len());

    let sender = a.connection("tunnel");
    let [first, second] = [0, 1].map(|path: usize| sender.paths[path].sent.packets);
    assert_eq!((sender.sent.packets, second), (sent, sent));
    assert!((1..sent).contains(&first), "{first}");
    let received = b.connection("tunnel");
    let copies: u64 = received.paths.iter().map(|path| path.received.packets).sum();
    assert_eq!(received.reorder.duplicate, copies - sent);
    assert!(copies > sent);
}
