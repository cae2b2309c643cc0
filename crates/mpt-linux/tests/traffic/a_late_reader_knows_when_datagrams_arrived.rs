//! The kernel stamps datagrams when they arrive. So a reader that gets the processor late knows when
//! they did, whether they come one by one or gathered.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use mpt_linux::udp::{ArrivalClock, RECEIVE_LEN, UdpSocket};

use crate::sockets::{bind, wait};

/// The time that the reader sleeps after the datagrams were sent.
const LATE: Duration = Duration::from_millis(50);
/// Datagrams of a batch, and bytes of each.
const COUNT: usize = 5;
const LEN: usize = 1000;

/// Sends a batch, reads it after `late`, and returns when the sending began, when the reading did, and
/// the arrival of each datagram that was read.
fn exchange(
    sender: &UdpSocket,
    receiver: &UdpSocket,
    late: Duration,
) -> (Instant, Instant, Vec<Instant>) {
    let before = Instant::now();
    let batch = [7; COUNT * LEN];
    let pieces: Vec<_> = batch.chunks(LEN).map(IoSlice::new).collect();
    let sent = sender.send_batch(&receiver.local().into(), 0, LEN, &pieces);
    assert_eq!(sent.unwrap(), COUNT);
    std::thread::sleep(late);
    let (mut arrivals, mut buffer) = (Vec::new(), vec![0; RECEIVE_LEN]);
    let clock = ArrivalClock::new(ArrivalClock::read());
    let reading = Instant::now();
    while arrivals.len() < COUNT {
        let read = wait(|| receiver.receive(&mut buffer).map(Some));
        let arrival = clock.arrival(read.stamp, Instant::now());
        arrivals.extend(std::iter::repeat_n(arrival, read.len / read.datagram_len));
    }
    (before, reading, arrivals)
}

fn check(one_by_one: bool) {
    let (sender, receiver) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    if one_by_one {
        sender.without_segmentation();
    }
    // The kernel begins to stamp a moment after the first socket has asked for it.
    wait(|| {
        let (_, reading, arrivals) = exchange(&sender, &receiver, Duration::from_millis(5));
        Ok(arrivals.iter().all(|&arrival| arrival < reading).then_some(()))
    });
    let (before, reading, arrivals) = exchange(&sender, &receiver, LATE);
    let ages: Vec<_> = arrivals.iter().map(|&arrival| reading - arrival).collect();
    assert!(arrivals.is_sorted(), "{ages:?}");
    for &arrival in &arrivals {
        assert!(before <= arrival && arrival < before + LATE, "read after {ages:?}");
    }
}

#[test]
fn one_by_one() {
    check(true);
}

#[test]
fn gathered() {
    check(false);
}
