//! Over its bounds a queue drops from the head of the flow that holds most of what is short (RFC
//! 8290 section 4.1), no more than needed, whoever's packet came last.

use mpt_core::queue::{Counters, Dropped, Full, Limits};

use super::harness::{Owner, origin, packet};

#[test]
fn one_segment_where_one_is_enough() {
    let (mut owner, now) = (Owner::new(Limits { bytes: 10_000, packets: 100 }), origin());
    let fat = owner.push(now, packet(1, 6, 1400)).unwrap();
    owner.push(now, packet(2, 1, 1000)).unwrap();
    owner.push_only(now, packet(3, 1, 1000)).unwrap();
    let expected = Dropped { id: fat, segments: 1, bytes: 1400, last: false, tag: 1 };
    assert_eq!(owner.pop_dropped(), Some(expected));
    assert_eq!(owner.pop_dropped(), None);
    assert_eq!(owner.queue.len_bytes(), 9000);
    assert_eq!(owner.drain(now, 4), [0, 7000, 1000, 1000]);
    let counters = owner.queue.counters();
    let left = Counters { left: 7, left_bytes: 9000, ..Counters::default() };
    assert_eq!(counters, Counters { overflowed: 1, overflowed_bytes: 1400, ..left });
}

#[test]
fn the_new_packet_itself_if_it_is_the_fattest() {
    let (mut owner, now) = (Owner::new(Limits { bytes: 10_000, packets: 100 }), origin());
    owner.push(now, packet(1, 3, 1000)).unwrap();
    let new = owner.push_only(now, packet(2, 10, 1000)).unwrap();
    let dropped = owner.pop_dropped().unwrap();
    assert_eq!((dropped.id, dropped.segments, dropped.last), (new, 3, false));
    assert_eq!(owner.drain(now, 3), [0, 3000, 7000]);
}

#[test]
fn whole_packets_of_the_flow_with_most_packets_where_places_are_short() {
    let (mut owner, now) = (Owner::new(Limits { bytes: 1_000_000, packets: 11 }), origin());
    owner.push(now, packet(1, 44, 1400)).unwrap();
    let first = owner.push(now, packet(2, 2, 40)).unwrap();
    for _ in 0..8 {
        owner.push(now, packet(2, 1, 40)).unwrap();
    }
    assert_eq!(owner.queue.len_packets(), 10);
    owner.push_only(now, packet(3, 1, 40)).unwrap();
    let expected = Dropped { id: first, segments: 2, bytes: 80, last: true, tag: 2 };
    assert_eq!(owner.pop_dropped(), Some(expected));
    assert_eq!(owner.drain(now, 4), [0, 44 * 1400, 8 * 40, 40]);
}

#[test]
fn a_flood_of_one_flow_takes_nothing_from_the_others() {
    let (mut owner, now) = (Owner::new(Limits { bytes: 200_000, packets: 1000 }), origin());
    for flow in 1..=10 {
        owner.push(now, packet(flow, 4, 1000)).unwrap();
    }
    for _ in 0..1000 {
        owner.push(now, packet(0, 44, 1400)).unwrap();
    }
    let bytes = owner.drain(now, 11);
    assert_eq!(bytes[1..], [4000; 10]);
    assert!(bytes[0] > 200_000 - 40_000 - 1400, "{} bytes", bytes[0]);
}

#[test]
fn a_packet_larger_than_the_bound_is_refused_and_nothing_dropped_for_it() {
    let (mut owner, now) = (Owner::new(Limits { bytes: 10_000, packets: 100 }), origin());
    owner.push(now, packet(1, 6, 1500)).unwrap();
    assert_eq!(owner.push(now, packet(2, 11, 1000)), Err(Full));
    assert_eq!(owner.push(now, packet(2, 1, 10_001)), Err(Full));
    let counters = owner.queue.counters();
    assert_eq!((counters.refused, counters.overflowed), (12, 0));
    assert_eq!(owner.drain(now, 3), [0, 9000, 0]);
    // Only the part of a packet that has not left counts.
    let begun = mpt_core::queue::Waiting { first: 1, ..packet(2, 11, 1000) };
    owner.push(now, begun).unwrap();
    assert_eq!(owner.drain(now, 3), [0, 0, 10_000]);
}

#[test]
fn an_owner_that_does_not_ask_for_what_was_dropped_runs_out_of_places() {
    let (mut owner, now) = (Owner::new(Limits { bytes: 1000, packets: 3 }), origin());
    for _ in 0..3 {
        owner.push_only(now, packet(1, 1, 900)).unwrap();
    }
    assert_eq!(owner.push_only(now, packet(1, 1, 900)), Err(Full));
    owner.let_go();
    owner.push(now, packet(1, 1, 900)).unwrap();
    assert_eq!(owner.drain(now, 2), [0, 900]);
}
