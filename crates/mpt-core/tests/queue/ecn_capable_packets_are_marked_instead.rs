//! If the law drops a segment of other packets, it marks one of an ECN-capable packet; bounds drop both.

use mpt_core::queue::{Limits, Waiting};

use super::harness::{Owner, WIDE, ms, origin, packet};

fn capable(flow: u64, segments: u16, bytes: u32) -> Waiting<u64> {
    Waiting { ect: true, ..packet(flow, segments, bytes) }
}

/// Signals of one bulk flow in 5 s of a standing queue: marks and drops.
fn signals(ect: bool) -> (u64, u64) {
    let (mut owner, start) = (Owner::new(WIDE), origin());
    owner.queue.set_target(ms(40), ms(50));
    let mut marks = 0;
    for t in 0..5000 {
        let now = start + ms(t);
        while owner.queue.len_packets() < 100 {
            owner.push(now, Waiting { ect, ..packet(0, 1, 1514) }).unwrap();
        }
        marks += u64::from(owner.pop(now).unwrap().mark);
    }
    let counters = owner.queue.counters();
    assert_eq!(counters.marked, marks);
    (marks, counters.dropped)
}

#[test]
fn as_often_as_others_are_dropped() {
    let (marks, none) = signals(true);
    assert_eq!(none, 0);
    let (none, drops) = signals(false);
    assert_eq!(none, 0);
    assert_eq!(marks, drops);
    assert!(marks > 20);
}

/// One bulk flow of one capable super-packet, of which the next segment is to be marked.
fn due() -> (Owner, std::time::Instant) {
    let (mut owner, start) = (Owner::new(Limits { bytes: 68_000, packets: 100 }), origin());
    owner.queue.set_target(ms(40), ms(50));
    owner.push(start, capable(0, 44, 1514)).unwrap();
    assert!(owner.pop(start).unwrap().sparse);
    assert!(!owner.pop(start + ms(100)).unwrap().mark);
    (owner, start + ms(150))
}

#[test]
fn one_segment_of_a_super_packet() {
    let (mut owner, now) = due();
    let marks: Vec<u16> = std::iter::from_fn(|| owner.pop(now))
        .filter(|left| left.mark)
        .map(|left| left.segment)
        .collect();
    assert_eq!(marks, [2]);
}

#[test]
fn and_a_look_at_the_head_keeps_the_mark_for_it() {
    let (mut owner, now) = due();
    for t in 0..10 {
        assert_eq!(owner.queue.peek(now + ms(t)).unwrap().segment, 2);
    }
    assert!(owner.pop(now + ms(10)).unwrap().mark);
    assert!(!owner.pop(now + ms(10)).unwrap().mark);
}

#[test]
fn and_a_drop_in_its_place_is_signal_enough() {
    let (mut owner, now) = due();
    owner.queue.peek(now).unwrap();
    // Another flow's packet: the fattest flow loses the segment that was to be marked.
    owner.push(now, capable(1, 6, 1000)).unwrap();
    assert!(owner.queue.counters().overflowed > 0);
    assert!(std::iter::from_fn(|| owner.pop(now)).all(|left| !left.mark));
}
