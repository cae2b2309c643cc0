//! A stranger who knows the server's public key floods it with initiations: sessions and data go on, the answers are fewer bytes than the
//! questions, and a friend who was away is let in again during the flood.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::PathState;
use mpt_wire::control::frame::{COOKIE_LEN, RESPONSE_LEN};

use crate::attacker::Attacker;
use crate::hosts::{Line, Pair, Pulse, wait_for};
use crate::support::{authenticate, control};

/// Different initiations, over and over again.
const INITIATIONS: usize = 300;
/// Initiations per second: forty times what makes the server ask for cookies.
const RATE: u32 = 2000;
/// Bytes of a response, and of a cookie, with the GRE header.
const ANSWERS: [usize; 2] = [4 + RESPONSE_LEN, 4 + COOKIE_LEN];

#[test]
fn a_flood_of_initiations_keeps_nobody_out() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    for path in ["line1", "line2"] {
        configs[1].path("tunnel", path).unset("remote");
    }
    let mut attacker = Attacker::new(&pair);
    let flood: Vec<_> =
        (0..INITIATIONS).map(|_| attacker.initiation(&identities[1].public_key())).collect();
    let [mut a, b] = pair.start(&configs);
    let pulse = Pulse::start((&pair.b, "10.72.0.2:5000"), (&pair.a, "10.72.0.1:5000"));
    let stop = AtomicBool::new(false);
    let (sent, received) = thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            let mut sent = 0;
            for frame in flood.iter().cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
                attacker.send(frame, 1, sent % 2 == 1);
                sent += 1;
                thread::sleep(Duration::from_secs(1) / RATE);
            }
            sent
        });
        let reading = scope.spawn(|| {
            let mut answers = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                answers.extend(attacker.answers());
            }
            answers
        });
        let start = Instant::now();
        wait_for("the server asks for cookies", || {
            (control(&b, "cookies_sent") > 100).then_some(())
        });
        thread::sleep(Duration::from_secs(2));
        for daemon in [&a, &b] {
            for path in daemon.connection("tunnel").paths {
                assert_eq!((path.state, path.liveness.unwrap().flaps), (PathState::Up, 0));
            }
        }
        let beats = pulse.end();
        assert!(beats.longest_gap(start) < Duration::from_millis(300));
        // The friend starts again, and has to get in among all of them.
        a.kill();
        a.start_again(&pair.a);
        a.wait_until_up();
        stop.store(true, Ordering::Relaxed);
        (flooding.join().unwrap(), reading.join().unwrap())
    });
    assert!(control(&b, "unknown_peer") > 0, "until there was load, they were looked at");
    assert!(received.iter().all(|answer| ANSWERS.contains(&answer.len())), "{received:?}");
    assert!(received.len() <= sent / 2 + 1, "{} answers to {sent}", received.len());
    crate::hosts::traffic::tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 300_000);
}
