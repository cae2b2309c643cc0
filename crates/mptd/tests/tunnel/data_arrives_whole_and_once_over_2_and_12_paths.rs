//! Checksummed data both ways at once, over lines of unequal rates: datagrams alone arrive to the last one, and beside TCP that fills the
//! lines, what is missing was dropped by a line or came too late, and the counters account for it.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use crate::hosts::traffic::{
    duplicates, inversions, receive_until_quiet, send_numbered, tcp_both_ways,
};
use crate::hosts::{Daemon, Line, Pair};

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

/// Numbered datagrams both ways at once, first alone and then beside TCP both ways. `lines`: rate in Mbit/s and weight of each. `strict`: by the papers' plain rule, to wait for the maximum delay and
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
    // 1,500 datagrams per second of 200 bytes take 3 Mbit/s, which the slowest of the lines can carry its share of.
    for numbers in datagrams_both_ways(&sockets) {
        let all: Vec<_> = (0..DATAGRAMS).collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        assert!(sorted == all, "{} of {DATAGRAMS} arrived", numbers.len());
        assert!(!strict || inversions(&numbers) == 0);
    }
    let numbers = thread::scope(|scope| {
        scope.spawn(|| tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", TCP_BYTES));
        datagrams_both_ways(&sockets)
    });
    for (numbers, [sender, receiver]) in numbers.iter().zip([[&a, &b], [&b, &a]]) {
        assert_eq!(duplicates(numbers), 0);
        let missing = DATAGRAMS - numbers.len() as u64;
        let accounted = dropped_on_the_way(sender, receiver) + late(receiver, strict);
        assert!(missing <= accounted, "{missing} are missing, {accounted} accounted for");
    }
    for daemon in [a, b] {
        assert!(daemon.packets_sent("tunnel").iter().all(|&packets| packets > 0));
        daemon.stop();
    }
    numbers
}

/// Sends numbered datagrams from either socket to the other. Gives the numbers that arrived at the second and at the first.
fn datagrams_both_ways(sockets: &[UdpSocket; 2]) -> [Vec<u64>; 2] {
    thread::scope(|scope| {
        let receivers = [0, 1].map(|here: usize| {
            let there = &sockets[1 - here];
            let here = &sockets[here];
            scope.spawn(|| {
                send_numbered(here, there.local_addr().unwrap(), 0..DATAGRAMS, 200, 1500);
            });
            scope.spawn(|| receive_until_quiet(there, Duration::from_secs(1)))
        });
        receivers.map(|receiver| receiver.join().unwrap())
    })
}

/// Inner packets that one end sent and that did not reach the other one.
fn dropped_on_the_way(sender: &Daemon, receiver: &Daemon) -> u64 {
    let sent: u64 = sender.packets_sent("tunnel").iter().sum();
    let paths = receiver.connection("tunnel").paths;
    sent - paths.iter().map(|path| path.received.packets).sum::<u64>()
}

/// Packets that the receiver dropped since their number had been given up.
fn late(receiver: &Daemon, strict: bool) -> u64 {
    if strict { receiver.connection("tunnel").reorder.late } else { 0 }
}
