//! The queue drops at its tail what exceeds its limit, the packet in transmission not counted.

use mpt_link::{ByteCount, Change, Channel, Outcome, Params, QueueLimit, Tally};
use std::time::{Duration, Instant};

use crate::common::{arrival, nanos, rate, send_regularly, start};

/// 1 byte every microsecond.
fn channel(start: Instant, queue: QueueLimit) -> Channel {
    Channel::new(start, Params { rate: rate(8_000_000), queue, ..Params::default() }, [], 1)
}

/// Returns which of `count` packets of 10 bytes, sent at once, were taken.
fn taken(queue: QueueLimit, count: u32) -> Vec<bool> {
    let start = start();
    let mut channel = channel(start, queue);
    let outcomes = send_regularly(&mut channel, start, Duration::ZERO, 10, count);
    let refused = outcomes.iter().filter(|&&outcome| outcome == Outcome::QueueFull).count();
    assert_eq!(channel.counters().queue_full.packets, refused as u64);
    assert_eq!(channel.counters().queue_full.bytes, refused as u64 * 10);
    outcomes.into_iter().map(|outcome| arrival(start, outcome).is_some()).collect()
}

#[test]
fn in_packets() {
    assert_eq!(taken(QueueLimit::Packets(0), 3), [true, false, false]);
    assert_eq!(taken(QueueLimit::Packets(2), 5), [true, true, true, false, false]);
}

#[test]
fn in_bytes() {
    assert_eq!(taken(QueueLimit::Bytes(ByteCount(0)), 2), [true, false]);
    assert_eq!(taken(QueueLimit::Bytes(ByteCount(29)), 4), [true, true, true, false]);
    assert_eq!(taken(QueueLimit::Bytes(ByteCount(30)), 5), [true, true, true, true, false]);
}

#[test]
fn in_time() {
    assert_eq!(taken(QueueLimit::Time(Duration::ZERO), 2), [true, false]);
    // The n-th would wait for n x 10 us.
    assert_eq!(taken(QueueLimit::Time(nanos(19_999)), 3), [true, true, false]);
    assert_eq!(taken(QueueLimit::Time(nanos(20_000)), 4), [true, true, true, false]);
}

#[test]
fn a_small_packet_still_fits_where_a_large_one_does_not() {
    let start = start();
    let mut channel = channel(start, QueueLimit::Bytes(ByteCount(15)));
    let outcomes = [10, 10, 10, 5].map(|size| channel.send(start, ByteCount(size)));
    assert_eq!(
        outcomes.map(|o| arrival(start, o)),
        [Some(10_000), Some(20_000), None, Some(25_000)]
    );
}

#[test]
fn room_is_made_when_a_transmission_begins() {
    let start = start();
    let mut channel = channel(start, QueueLimit::Packets(1));
    let at = |nanoseconds| start + nanos(nanoseconds);
    for (time, outcome, waiting) in [
        (0, Some(10_000), 0),
        (0, Some(20_000), 1),
        (9_999, None, 1),
        (10_000, Some(30_000), 1),
        (20_000, Some(40_000), 1),
        (29_999, None, 1),
    ] {
        assert_eq!(arrival(start, channel.send(at(time), ByteCount(10))), outcome, "at {time}");
        let bytes = waiting * 10;
        assert_eq!(channel.waiting(at(time)), Tally { packets: waiting, bytes }, "at {time}");
    }
    assert_eq!(channel.waiting(at(30_000)), Tally::default());
}

#[test]
fn a_lower_limit_drops_nothing_that_waits() {
    let start = start();
    let mut channel = channel(start, QueueLimit::Unlimited);
    channel.change(start + nanos(5), Change::Queue(QueueLimit::Packets(1)));
    let outcomes = send_regularly(&mut channel, start, nanos(1), 10, 6);
    let arrivals = outcomes.into_iter().map(|outcome| arrival(start, outcome));
    assert!(
        arrivals.eq([10_000, 20_000, 30_000, 40_000, 50_000].map(Some).into_iter().chain([None]))
    );
}

#[test]
fn nothing_waits_without_a_rate() {
    let start = start();
    let params = Params { queue: QueueLimit::Packets(0), ..Params::default() };
    let mut channel = Channel::new(start, params, [], 1);
    for outcome in send_regularly(&mut channel, start, Duration::ZERO, 1_000_000, 100) {
        assert_eq!(arrival(start, outcome), Some(0));
    }
}
