//! A half-duplex medium: access costs time whenever a burst begins, and is the same for all stations.

use std::time::{Duration, Instant};

use mpt_link::{ByteCount, Channel, Medium, Params, QueueLimit};

use crate::common::{arrival, nanos, rate, start};

/// 10 us per packet of 125 bytes.
const SIZE: ByteCount = ByteCount(125);
const ACCESS: u64 = 3_000;

fn medium(start: Instant, burst: u64) -> Channel {
    let params = Params { rate: rate(100_000_000), ..Params::default() };
    let medium = Medium { access: nanos(ACCESS), burst: nanos(burst) };
    Channel::new(start, params, [], 1).shared(medium)
}

/// Returns the arrival times of packets of these stations, all sent at `at`.
fn arrivals(channel: &mut Channel, start: Instant, at: u64, stations: &[u32]) -> Vec<u64> {
    let at = start + nanos(at);
    let send = |&station: &u32| arrival(start, channel.send_from(at, SIZE, station)).unwrap();
    stations.iter().map(send).collect()
}

#[test]
fn once_by_one_station_that_goes_on() {
    let start = start();
    let times = arrivals(&mut medium(start, 1_000_000), start, 0, &[7, 7, 7]);
    assert_eq!(times, [13_000, 23_000, 33_000]);
}

#[test]
fn at_every_change_of_the_station() {
    let start = start();
    let times = arrivals(&mut medium(start, 1_000_000), start, 0, &[1, 2, 2, 1]);
    assert_eq!(times, [13_000, 26_000, 36_000, 49_000]);
}

#[test]
fn when_the_burst_has_been_long_enough() {
    let start = start();
    // Packets begin 0, 10 and 20 us after the first one of a burst.
    let times = arrivals(&mut medium(start, 20_000), start, 0, &[1; 5]);
    assert_eq!(times, [13_000, 23_000, 36_000, 46_000, 59_000]);
    let each = arrivals(&mut medium(start, 0), start, 0, &[1; 3]);
    assert_eq!(each, [13_000, 26_000, 39_000]);
}

#[test]
fn after_the_medium_was_idle() {
    let start = start();
    let mut channel = medium(start, 1_000_000);
    assert_eq!(arrivals(&mut channel, start, 0, &[1]), [13_000]);
    assert_eq!(arrivals(&mut channel, start, 13_000, &[1]), [23_000], "just in time");
    assert_eq!(arrivals(&mut channel, start, 23_001, &[1]), [36_001]);
}

#[test]
fn not_by_a_packet_that_finds_the_queue_full() {
    let start = start();
    let params =
        Params { rate: rate(100_000_000), queue: QueueLimit::Packets(0), ..Params::default() };
    let access = Medium { access: nanos(ACCESS), burst: Duration::from_millis(1) };
    let mut channel = Channel::new(start, params, [], 1).shared(access);
    assert_eq!(arrival(start, channel.send_from(start, SIZE, 1)), Some(13_000));
    assert_eq!(arrival(start, channel.send_from(start, SIZE, 2)), None);
    let next = channel.send_from(start + nanos(13_000), SIZE, 1);
    assert_eq!(arrival(start, next), Some(23_000));
}

#[test]
fn while_stations_mean_nothing_where_the_medium_is_not_shared() {
    let start = start();
    let params = Params { rate: rate(100_000_000), ..Params::default() };
    let mut channel = Channel::new(start, params, [], 1);
    assert_eq!(arrivals(&mut channel, start, 0, &[1, 2, 1]), [10_000, 20_000, 30_000]);
}

#[test]
fn with_the_rate_shared_as_arithmetic_says() {
    let start = start();
    let mut channel = medium(start, 100_000);
    // Two stations in turns of ten packets: 100 us of data for 103 us of the medium.
    let stations: Vec<u32> = (0..10_000).map(|packet| packet / 10 % 2).collect();
    let times = arrivals(&mut channel, start, 0, &stations);
    assert_eq!(times.last(), Some(&(1_000 * 103_000)));
}
