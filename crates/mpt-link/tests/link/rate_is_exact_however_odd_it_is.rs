//! The n-th packet of a busy period ends at n x size / rate, rounded down to the nanosecond: nothing adds up.

use mpt_link::{ByteCount, Change, Channel, Link, Outcome, Params};
use std::time::Duration;

use crate::common::{arrival, nanos, rate, send_regularly, start};

#[test]
fn a_million_packets_take_the_time_of_a_million_packets() {
    for bits_per_second in [7, 999_983, 10_000_000, 94_121_003, 1_000_000_000, 123_456_789_012] {
        let start = start();
        let params = Params { rate: rate(bits_per_second), ..Params::default() };
        let mut channel = Channel::new(start, params, [], 1);
        let size = 1471;
        for (n, outcome) in
            (1..).zip(send_regularly(&mut channel, start, Duration::ZERO, size, 1_000_000))
        {
            let exact = n * u128::from(size) * 8 * 1_000_000_000 / u128::from(bits_per_second);
            assert_eq!(arrival(start, outcome).map(u128::from), Some(exact), "packet {n}");
        }
    }
}

#[test]
fn an_idle_link_starts_afresh() {
    let start = start();
    let mut channel = Channel::new(start, Params { rate: rate(3), ..Params::default() }, [], 1);
    // 8 bits at 3 bit/s: 2.666666666.67 s each.
    let outcomes = send_regularly(&mut channel, start, Duration::from_secs(3), 1, 3);
    let arrivals: Vec<_> = outcomes.into_iter().map(|o| arrival(start, o).unwrap()).collect();
    assert_eq!(arrivals, [2_666_666_666, 5_666_666_666, 8_666_666_666]);
}

#[test]
fn a_change_of_rate_splits_the_packet_in_transmission() {
    let start = start();
    // 1 bit/ns until 100 ns, then 10 bit/ns, at 101 ns 1/1000 bit/ns, then no limit.
    let schedule = [
        (nanos(100), Change::Rate(rate(10_000_000_000))),
        (nanos(101), Change::Rate(rate(1_000_000))),
        (nanos(5101), Change::Rate(None)),
    ];
    let params = Params { rate: rate(1_000_000_000), ..Params::default() };
    let mut channel = Channel::new(start, params, schedule, 1);
    let sizes = [10, 4, 1000, 1];
    let ends: Vec<_> = sizes
        .map(|size| arrival(start, channel.send(start, ByteCount(size))).unwrap())
        .into_iter()
        .collect();
    // 80 bits; 20 + 10 bits and 2 more at 1000 ns each; 3 bits, and all the rest at once; no limit.
    assert_eq!(ends, [80, 2101, 5101, 5101]);
}

#[test]
fn a_link_that_stands_still_goes_on() {
    let start = start();
    let schedule = [
        (Duration::from_millis(10), Change::Rate(rate(1))),
        (Duration::from_millis(1010), Change::Rate(rate(1_000_000))),
    ];
    let params = Params { rate: rate(1_000_000), ..Params::default() };
    let mut channel = Channel::new(start, params, schedule, 1);
    // 10 ms each; the second has sent 1 bit while the link stood still.
    let outcomes = send_regularly(&mut channel, start, Duration::ZERO, 1250, 3);
    let arrivals: Vec<_> = outcomes.into_iter().map(|o| arrival(start, o).unwrap()).collect();
    assert_eq!(arrivals, [10_000_000, 1_019_999_000, 1_029_999_000]);
}

#[test]
fn a_late_poll_does_not_distort_the_next_arrivals() {
    let start = start();
    let params = Params { rate: rate(8_000_000), delay: nanos(500), ..Params::default() };
    let mut link = Link::new(start, params, [], 1);
    for packet in 0..3 {
        assert!(matches!(link.enqueue(start, ByteCount(1), packet), Outcome::Arrives { .. }));
    }
    assert_eq!(link.poll(start + nanos(1499)), None);
    assert_eq!(link.poll(start + nanos(2400)), Some(0));
    assert_eq!(link.next_timeout(), Some(start + nanos(2500)));
    assert_eq!(link.poll(start + nanos(2500)), Some(1));
    assert_eq!(link.poll(start + nanos(3499)), None);
    assert_eq!(link.poll(start + nanos(3500)), Some(2));
    assert_eq!((link.next_timeout(), link.in_flight()), (None, 0));
}
