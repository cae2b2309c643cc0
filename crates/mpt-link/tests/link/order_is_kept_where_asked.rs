//! Packets keep their order with `keep_order`, whatever jitter and changes of delay say; without it, they overtake each other.

use mpt_link::{ByteCount, Change, Distribution, Jitter, Link, Params, Redraw};
use std::time::Duration;

use crate::common::{nanos, probability, start};

/// Returns the arrivals of 20,000 packets sent 10 us apart, in their order.
fn received(keep_order: bool, jitter: Option<Distribution>, delays: &[(u64, u64)]) -> Vec<u32> {
    let start = start();
    let ms = Duration::from_millis;
    let jitter = jitter.map(|distribution| Jitter { distribution, redraw: Redraw::EveryPacket });
    let duplication = probability(0.1);
    let params = Params { delay: ms(10), jitter, keep_order, duplication, ..Params::default() };
    let schedule = delays.iter().map(|&(at, delay)| (ms(at), Change::Delay(ms(delay))));
    let mut link = Link::new(start, params, schedule, 5);
    let mut received = Vec::new();
    for packet in 0..20_000 {
        let now = start + nanos(10_000) * packet;
        let _ = link.enqueue(now, ByteCount(1500), packet);
        received.extend(std::iter::from_fn(|| link.poll(now)));
    }
    received.extend(std::iter::from_fn(|| link.poll(link.next_timeout()?)));

    // Nothing was lost on the way, with or without order.
    let mut sent: Vec<u32> = received.clone();
    sent.sort_unstable();
    sent.dedup();
    assert!(sent.into_iter().eq(0..20_000));
    assert_eq!(received.len() as u64, 20_000 + link.counters().duplicated.packets);
    received
}

#[test]
fn with_jitter() {
    for distribution in [
        Distribution::Normal { deviation: Duration::from_millis(2) },
        Distribution::Uniform { half_width: Duration::from_millis(5) },
    ] {
        assert!(received(true, Some(distribution), &[]).is_sorted());
        assert!(!received(false, Some(distribution), &[]).is_sorted());
    }
}

#[test]
fn with_a_falling_delay() {
    let delays = [(50, 5), (100, 30), (150, 1)];
    assert!(received(true, None, &delays).is_sorted());
    assert!(!received(false, None, &delays).is_sorted());
}

#[test]
fn without_jitter_there_is_nothing_to_keep() {
    assert!(received(false, None, &[]).is_sorted());
}
