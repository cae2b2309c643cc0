//! A link with a fair queue transmits one packet after the other at its rate, and gives each at its time.

use std::time::{Duration, Instant};

use mpt_link::{ByteCount, Capable, FairLink, FqCodelConfig, Loss, Params};

use crate::common::{rate, start};

const SIZE: ByteCount = ByteCount(1000);
/// Transmission time of a packet at 8 Mbit/s.
const MILLISECOND: Duration = Duration::from_millis(1);

fn link(start: Instant, loss: f64) -> FairLink<u32> {
    let params = Params {
        rate: rate(8_000_000),
        delay: Duration::from_millis(10),
        loss: Loss::Bernoulli(crate::common::probability(loss)),
        ..Params::default()
    };
    FairLink::new(start, params, FqCodelConfig::default(), [], 1)
}

/// Returns the packets that arrive, each with its time in milliseconds since the start.
fn arrivals(link: &mut FairLink<u32>, start: Instant) -> Vec<(u64, u32)> {
    let mut list = Vec::new();
    while let Some(at) = link.next_timeout() {
        while let Some(arrival) = link.poll(at) {
            list.push(((at - start).as_millis() as u64, arrival.packet));
        }
    }
    list
}

#[test]
fn packets_of_two_flows_alternate_and_take_their_time() {
    let start = start();
    let mut link = link(start, 0.0);
    for packet in 0..6 {
        // The first flow is there with all its packets before the second one.
        let flow = u64::from(packet / 3);
        link.enqueue(start, flow, SIZE, Capable::No, packet);
    }
    // A turn has 1514 bytes: the first flow gets the two packets that begin within it, one of which was in transmission.
    let expected = [(11, 0), (12, 1), (13, 3), (14, 4), (15, 2), (16, 5)];
    assert_eq!(arrivals(&mut link, start), expected);
}

#[test]
fn an_idle_link_starts_afresh() {
    let start = start();
    let mut link = link(start, 0.0);
    link.enqueue(start, 0, SIZE, Capable::No, 0);
    link.enqueue(start + 100 * MILLISECOND, 0, SIZE, Capable::No, 1);
    assert_eq!(arrivals(&mut link, start), [(11, 0), (111, 1)]);
}

#[test]
fn every_packet_arrives_or_is_given_back() {
    let start = start();
    let mut link = link(start, 0.3);
    // 1.25 packets a millisecond for 2 s: a queue that stands.
    for packet in 0..2500 {
        link.enqueue(start + MILLISECOND * packet * 4 / 5, 0, SIZE, Capable::No, packet);
    }
    let mut all: Vec<u32> =
        arrivals(&mut link, start).into_iter().map(|(_, packet)| packet).collect();
    let arrived = all.len() as u64;
    all.extend(link.take_dropped());
    all.sort_unstable();
    assert_eq!(all, (0..2500).collect::<Vec<_>>());
    let counters = link.counters();
    assert_eq!(counters.offered.packets, 2500);
    assert!(counters.queue_full.packets > 20 && counters.lost.packets > 500, "{counters:?}");
    assert_eq!(arrived, 2500 - counters.queue_full.packets - counters.lost.packets);
}
