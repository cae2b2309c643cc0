//! The byte limit of the daemon, and teardown.

use mpt_core::reorder::{Config, ReorderBuffer, Verdict};

use super::harness::{Collector, origin};

fn buffer(window: u16) -> ReorderBuffer<u32> {
    ReorderBuffer::new(Config { window: Some(window), ..Config::default() })
}

#[test]
fn the_window_is_emptied_in_order_with_the_packet_in_its_place() {
    let (now, mut sink) = (origin(), Collector::limited(3));
    let mut buffer = buffer(100);
    for number in [0, 8, 2, 5] {
        buffer.receive(now, 0, number, number, &mut sink);
    }
    assert_eq!(buffer.occupancy(), 3);
    assert_eq!(buffer.receive(now, 0, 6, 6, &mut sink), Verdict::Overflow);
    assert_eq!(sink.delivered, [0, 2, 5, 6, 8]);
    assert_eq!(sink.gaps, [2, 5, 8]);
    assert_eq!((buffer.occupancy(), buffer.due(), buffer.next_timeout()), (0, 9, None));
    let counters = buffer.counters();
    assert_eq!((counters.overflow, counters.after_gap, counters.in_order), (1, 3, 1));
    assert_eq!(buffer.receive(now, 0, 9, 9, &mut sink), Verdict::InOrder);
    assert_eq!(buffer.receive(now, 0, 7, 7, &mut sink), Verdict::Late);
    assert_eq!(buffer.receive(now, 0, 6, 6, &mut sink), Verdict::Duplicate);
}

#[test]
fn a_packet_ahead_of_the_window_is_delivered_too() {
    let (now, mut sink) = (origin(), Collector::limited(1));
    let mut buffer = buffer(10);
    for number in [0, 5, 50] {
        buffer.receive(now, 0, number, number, &mut sink);
    }
    assert_eq!(sink.delivered, [0, 5]); // sliding has made room
    assert_eq!(buffer.receive(now, 0, 70, 70, &mut sink), Verdict::Overflow);
    assert_eq!(buffer.receive(now, 0, 69, 69, &mut sink), Verdict::Overflow);
    assert_eq!(sink.delivered, [0, 5, 50, 69, 70]);
    assert_eq!((buffer.occupancy(), buffer.due()), (0, 71));
    assert_eq!((buffer.counters().overflow, buffer.counters().packets()), (3, 5));
}

#[test]
fn a_window_of_one_never_keeps_anything() {
    let (now, mut sink) = (origin(), Collector::limited(0));
    let mut buffer = buffer(1);
    for number in [7, 9, 8, 10, 12] {
        buffer.receive(now, 0, number, number, &mut sink);
    }
    assert_eq!(sink.delivered, [7, 9, 8, 10, 12]);
    let counters = buffer.counters();
    assert_eq!((counters.in_order, counters.overflow, counters.late), (2, 2, 1));
}

#[test]
fn teardown_hands_every_kept_packet_back() {
    let (now, mut sink) = (origin(), Collector::default());
    let mut buffer = buffer(100);
    for number in [0, 8, 2, 150] {
        buffer.receive(now, 0, number, number, &mut sink);
    }
    buffer.receive(now, 0, 149, 149, &mut sink);
    buffer.discard(&mut sink);
    assert_eq!(sink.delivered, [0, 2, 8]);
    assert_eq!(sink.discarded, [149, 150]);
    let counters = buffer.counters();
    assert_eq!((counters.discarded, counters.overflow, counters.packets()), (1, 1, 5));
    assert_eq!((buffer.occupancy(), buffer.next_timeout()), (0, None));
}
