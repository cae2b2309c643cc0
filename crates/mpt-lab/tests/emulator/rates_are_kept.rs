use std::time::{Duration, Instant};

use mpt_link::{Bitrate, Params, QueueLimit};

use crate::harness::{Datagram, Emulator, Hosts, OVERHEAD, introduce, receive};

const SIZE: usize = 1000;
const RATE: u64 = 40_000_000;

/// Twice the rate for half a second.
fn flood(hosts: &Hosts) -> Vec<Datagram> {
    let (from, to) = (hosts.socket(0, 0), hosts.socket(0, 1));
    from.connect(to.local_addr().unwrap()).unwrap();
    let receiver = std::thread::spawn(move || receive(&to));
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < Duration::from_millis(500) {
        let due = start.elapsed().as_secs_f64() * 2.0 * RATE as f64 / 8.0 / SIZE as f64;
        while f64::from(sent) < due {
            from.send(&[0; SIZE]).unwrap();
            sent += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    receiver.join().unwrap()
}

#[test]
fn and_what_the_queue_has_no_room_for_is_dropped() {
    let hosts = Hosts::new();
    let queue = QueueLimit::Time(Duration::from_millis(20));
    let params = Params { rate: Bitrate::new(RATE), queue, ..Params::default() };
    let cables = [hosts.cable(0, &[0], &[])];
    let mut emulator = Emulator::start(&hosts, &[params], &cables, false);
    introduce(&hosts, 0);
    let before = emulator.packets(0);
    let arrived = flood(&hosts);
    let after = emulator.packets(0);
    let [offered, full, lost, _] = [0, 1, 2, 3].map(|kind| after[kind] - before[kind]);
    assert_eq!((offered - full, lost), (arrived.len() as u64, 0));
    assert!(full > 0, "nothing was dropped of {offered}");
    // Between the first and the last one: their own time on the wire, but for how late either of them was.
    let frame = (SIZE + OVERHEAD) as f64 * 8.0 / RATE as f64;
    let expected = frame * (arrived.len() - 1) as f64;
    let (first, last) = (&arrived[0], &arrived[arrived.len() - 1]);
    let time = (last.at - first.at).as_secs_f64();
    let late = emulator.latest().as_secs_f64() + 1e-4;
    assert!((time - expected).abs() <= late, "{time} s instead of {expected}, {late} late at most");
}
