//! Numbers that jump, repeat, run ahead or start again, from a plain socket in the peer's place: what could be delivered is,
//! once, and every packet ends in one counter.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::Reorder;

use crate::hosts::{Daemon, PATIENCE, Pair, wait_for};
use crate::support::{contents, numbered};

const TARGET: &str = "10.71.1.1:4754";
/// Longer than any gap is waited for here.
const QUIET: Duration = Duration::from_millis(500);

/// One daemon, the peer's place, and where its packets come out.
struct Scene {
    pair: Pair,
    daemon: Daemon,
    peer: UdpSocket,
    receiver: UdpSocket,
    sent: u32,
}

impl Scene {
    fn new() -> Self {
        let pair = Pair::with_lines(1);
        let mut config = pair.configs()[0].clone();
        config.connection("tunnel").set("window", 1000).set("max_delay", "50 ms");
        let mut daemon = Daemon::start(&pair.a, &config);
        daemon.wait_until_up();
        let peer = pair.b.udp("10.71.1.2:0");
        let receiver = pair.a.udp("10.72.0.1:5000");
        Self { pair, daemon, peer, receiver, sent: 0 }
    }

    /// Sends packets with these numbers, their contents counted from 0 over all.
    fn send(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            self.peer.send_to(&numbered(number, self.sent), TARGET).unwrap();
            self.sent += 1;
            if self.sent.is_multiple_of(64) {
                // The receiver's socket buffer is no part of this test.
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Returns the packets that came out, once everything that was sent has been counted, and the counters.
    fn end(self) -> (Vec<u32>, Reorder) {
        let sent = u64::from(self.sent);
        let reorder = wait_for("every packet is counted", || {
            let reorder = self.daemon.connection("tunnel").reorder;
            (total(&reorder) >= sent).then_some(reorder)
        });
        assert_eq!(total(&reorder), sent, "one counter each: {reorder:?}");
        let contents = contents(&self.receiver, QUIET);
        self.daemon.stop();
        drop(self.pair);
        (contents, reorder)
    }
}

fn total(reorder: &Reorder) -> u64 {
    reorder.in_order
        + reorder.after_gap
        + reorder.late
        + reorder.duplicate
        + reorder.overflow
        + reorder.stray
}

#[test]
fn replays_are_dropped() {
    let mut scene = Scene::new();
    scene.send(0..200);
    scene.send(50..150);
    scene.send([199, 199, 0]);
    scene.send(200..300);
    let (contents, reorder) = scene.end();
    assert_eq!((reorder.in_order, reorder.duplicate), (300, 103), "{reorder:?}");
    let expected: Vec<u32> = (0..200).chain(303..403).collect();
    assert_eq!(contents, expected);
}

#[test]
fn a_jump_within_the_window_is_waited_for_and_then_taken() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send(600..700);
    let (contents, reorder) = scene.end();
    assert_eq!((reorder.in_order + reorder.after_gap, reorder.late), (200, 0), "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..200));
}

#[test]
fn a_jump_beyond_the_window_moves_it() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send(30_000..30_100);
    let (contents, reorder) = scene.end();
    assert_eq!(reorder.overflow + reorder.in_order + reorder.after_gap, 200, "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..200));
}

#[test]
fn a_jump_beyond_everything_is_followed() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send(3_000_000_000..3_000_000_100);
    let (contents, reorder) = scene.end();
    assert!(reorder.stray >= 1 && reorder.stray <= 3, "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..200));
}

#[test]
fn a_single_forged_number_far_ahead_leaves_the_others_in_order() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send([2_000_000_000]);
    scene.send(100..200);
    let (contents, reorder) = scene.end();
    assert_eq!((reorder.in_order, reorder.stray), (200, 1), "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..201));
}

#[test]
fn a_forged_number_that_moves_the_window_loses_nothing() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send([50_000]);
    scene.send(100..2000);
    let (mut contents, reorder) = scene.end();
    assert_eq!((reorder.overflow, reorder.duplicate), (1, 0), "{reorder:?}");
    contents.sort_unstable();
    assert_eq!(contents, Vec::from_iter(0..2001));
}

#[test]
fn a_peer_that_starts_again_at_0_is_in_order_after_a_second() {
    let mut scene = Scene::new();
    scene.send(0..1000);
    let start = Instant::now();
    let mut number = 0;
    // Nobody says that these are new packets, so they are taken for replays, until none has made progress for one second.
    let (first, reorder) = loop {
        scene.send(number..number + 1);
        thread::sleep(Duration::from_millis(5));
        let reorder = scene.daemon.connection("tunnel").reorder;
        if reorder.in_order + reorder.after_gap > 1000 {
            break (number, reorder);
        }
        number += 1;
        assert!(start.elapsed() < PATIENCE, "not yet: {reorder:?}");
    };
    let took = start.elapsed();
    assert!(took > Duration::from_secs(1), "after {took:?}, which is too early to be sure");
    assert_eq!(reorder.duplicate, u64::from(first), "{reorder:?}");
    scene.send(first + 1..first + 500);
    let (contents, reorder) = scene.end();
    assert_eq!(reorder.duplicate, u64::from(first), "{reorder:?}");
    let expected: Vec<u32> = (0..1000).chain(1000 + first..1000 + first + 500).collect();
    assert_eq!(contents, expected);
}

#[test]
fn numbers_go_on_beyond_the_highest() {
    let mut scene = Scene::new();
    scene.send(u32::MAX - 99..=u32::MAX);
    scene.send(0..100);
    let (contents, reorder) = scene.end();
    assert_eq!(reorder.in_order, 200, "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..200));
}
