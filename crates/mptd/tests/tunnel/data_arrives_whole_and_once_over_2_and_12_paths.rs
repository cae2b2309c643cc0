//! Checksummed data both ways at once, over lines of unequal rates.

use std::thread;
use std::time::Duration;

use crate::hosts::traffic::{
    duplicates, inversions, receive_until_quiet, send_numbered, tcp_both_ways,
};
use crate::hosts::{Line, Pair};

const TCP_BYTES: usize = 4_000_000;
const DATAGRAMS: u64 = 3000;

#[test]
fn over_2_paths() {
    let numbers = exchange(&[(20, 2), (10, 1)], true);
    assert_eq!(numbers.map(|numbers| inversions(&numbers)), [0, 0]);
}

#[test]
fn over_2_paths_whose_weights_are_wrong() {
    let numbers = exchange(&[(20, 1), (10, 3)], true);
    assert_eq!(numbers.map(|numbers| inversions(&numbers)), [0, 0]);
}

#[test]
fn over_12_paths() {
    let lines: Vec<_> = (0..12).map(|line| (4 + line % 3 * 4, 1 + line % 3)).collect();
    let numbers = exchange(&lines, true);
    assert_eq!(numbers.map(|numbers| inversions(&numbers)), [0, 0]);
}

#[test]
fn with_the_defaults() {
    exchange(&[(20, 2), (10, 1)], false);
}

/// TCP and numbered datagrams both ways at once. `lines`: rate in Mbit/s and weight of each. `strict`: by the papers' plain rule, to wait for the maximum delay and
/// drop what comes later. Gives the numbers that arrived at `b` and at `a`.
fn exchange(lines: &[(u32, u32)], strict: bool) -> [Vec<u64>; 2] {
    let shaped: Vec<_> = lines.iter().map(|&(rate, _)| Line::shaped(rate)).collect();
    let pair = Pair::new(&shaped);
    let mut configs = pair.configs();
    for config in &mut configs {
        if strict {
            config.connection("tunnel").set("early_release", false).set("late", "drop");
        }
        for (line, &(_, weight)) in (1..).zip(lines) {
            config.path("tunnel", &format!("line{line}")).set("weight", weight);
        }
    }
    let [a, b] = pair.start(&configs);
    let sockets = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    let numbers = thread::scope(|scope| {
        scope.spawn(|| tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", TCP_BYTES));
        let [first, second] = [0, 1].map(|here: usize| {
            let there = &sockets[1 - here];
            let here = &sockets[here];
            scope.spawn(|| {
                send_numbered(here, there.local_addr().unwrap(), 0..DATAGRAMS, 200, 1500);
            });
            scope.spawn(|| receive_until_quiet(there, Duration::from_secs(1)))
        });
        [first.join().unwrap(), second.join().unwrap()]
    });
    for numbers in &numbers {
        assert_eq!(duplicates(numbers), 0);
        assert!(numbers.len() as u64 > DATAGRAMS / 2, "{} of {DATAGRAMS}", numbers.len());
    }
    for daemon in [a, b] {
        assert!(daemon.packets_sent("tunnel").iter().all(|&packets| packets > 0));
        daemon.stop();
    }
    numbers
}
