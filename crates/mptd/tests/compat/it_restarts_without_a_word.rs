//! The prototype numbers from 0 again, and nobody says so.

use std::thread;
use std::time::Duration;

use crate::hosts::traffic::{deliver, receive_until_quiet, send_numbered};
use crate::hosts::{Pair, wait_for};
use crate::prototype::Setup;

/// Two may be taken for copies of old ones, before it is believed (docs/reordering.md).
#[test]
fn its_packets_are_delivered_all_the_same() {
    let pair = Pair::with_lines(2);
    let (daemon, mut prototype) = Setup::default().start(&pair);
    let (from, to) = (pair.b.udp("10.72.0.2:0"), pair.a.udp("10.72.0.1:7"));
    deliver(&from, &to, 3000);
    // First numbers could still be on their way.
    thread::sleep(Duration::from_secs(1));
    prototype.tell("restart");
    wait_for("it has restarted", || (prototype.status()["number"] == 0).then_some(()));
    let address = to.local_addr().unwrap();
    let sender = thread::spawn(move || send_numbered(&from, address, 0..1000, 100, 1000));
    let numbers = receive_until_quiet(&to, Duration::from_secs(1));
    sender.join().unwrap();
    assert!(numbers.len() >= 998, "{} of 1000: {numbers:?}", numbers.len());
    assert!(daemon.connection("tunnel").reorder.duplicate <= 2);
}

/// We restart, and the prototype takes small numbers for that.
#[test]
fn ours_are_delivered_when_we_restart() {
    let pair = Pair::with_lines(2);
    let (mut daemon, mut prototype) = Setup::default().start(&pair);
    let to = pair.b.udp("10.72.0.2:7");
    deliver(&pair.a.udp("10.72.0.1:0"), &to, 3000);
    daemon.kill();
    daemon.start_again(&pair.a);
    daemon.wait_until_up();
    deliver(&pair.a.udp("10.72.0.1:0"), &to, 1000);
    // Once more for each first number that the other path brings behind a higher one.
    assert!(prototype.status()["restarts"].as_u64() >= Some(1));
}
