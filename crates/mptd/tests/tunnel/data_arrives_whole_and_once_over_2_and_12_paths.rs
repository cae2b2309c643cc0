//! Checksummed data both ways at once, over lines of unequal rates.

use std::thread;
use std::time::Duration;

use crate::hosts::traffic::{
    duplicates, inversions, receive_numbered, send_numbered, tcp_both_ways,
};
use crate::hosts::{Line, Pair};

const TCP_BYTES: usize = 4_000_000;
const DATAGRAMS: u64 = 3000;

#[test]
fn over_2_paths() {
    check(&[(20, 2), (10, 1)], |_| {});
}

#[test]
fn over_12_paths() {
    let lines: Vec<_> = (0..12).map(|line| (4 + line % 3 * 4, 1 + line % 3)).collect();
    check(&lines, |_| {});
}

/// `lines`: rate in Mbit/s and weight of each.
fn check(lines: &[(u32, u32)], adjust: impl Fn(&mut crate::hosts::Config)) {
    let shaped: Vec<_> = lines.iter().map(|&(rate, _)| Line::shaped(rate)).collect();
    let pair = Pair::new(&shaped);
    let mut configs = pair.configs();
    for config in &mut configs {
        config.connection("tunnel").set("early_release", false).set("late", "drop");
        for (line, &(_, weight)) in (1..).zip(lines) {
            config.path("tunnel", &format!("line{line}")).set("weight", weight);
        }
        adjust(config);
    }
    let [a, b] = pair.start(&configs);
    let sockets = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    let numbers = thread::scope(|scope| {
        scope.spawn(|| tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", TCP_BYTES));
        let [first, second] = [0, 1].map(|here: usize| {
            let there = &sockets[1 - here];
            let here = &sockets[here];
            scope.spawn(|| {
                send_numbered(here, there.local_addr().unwrap(), 0..DATAGRAMS, 200, 1500)
            });
            scope.spawn(|| receive_numbered(there, DATAGRAMS - 1, Duration::from_millis(400)))
        });
        [first.join().unwrap(), second.join().unwrap()]
    });
    for numbers in numbers {
        assert_eq!(duplicates(&numbers), 0);
        assert_eq!(inversions(&numbers), 0);
        assert!(numbers.len() as u64 > DATAGRAMS / 2, "{} of {DATAGRAMS}", numbers.len());
    }
    for daemon in [a, b] {
        assert!(daemon.packets_sent("tunnel").iter().all(|&packets| packets > 0));
        daemon.stop();
    }
}
