//! Window 0, changes at run time, strict order.

use std::time::Duration;

use mpt_core::reorder::{Config, Late, ReorderBuffer, Verdict};

use super::harness::{Collector, origin};

#[test]
fn without_a_window_everything_is_delivered_once_as_it_comes() {
    let (now, mut sink) = (origin(), Collector::default());
    let config = Config { window: Some(0), late: Late::Drop, ..Config::default() };
    let mut buffer = ReorderBuffer::new(config);
    let mut verdicts = Vec::new();
    for number in [u32::MAX, 2, 1, 2, 1, u32::MAX, 3, 0, 60_000, 3, 4] {
        verdicts.push(buffer.receive(now, 0, number, number, &mut sink));
    }
    use Verdict::{AfterGap, Duplicate, InOrder, Late as Behind};
    assert_eq!(
        verdicts,
        [
            InOrder, AfterGap, Behind, Duplicate, Duplicate, Duplicate, InOrder, Behind, AfterGap,
            Duplicate, Behind
        ]
    );
    assert_eq!(sink.delivered, [u32::MAX, 2, 1, 3, 0, 60_000, 4]);
    assert_eq!(buffer.next_timeout(), None);
}

#[test]
fn a_smaller_window_delivers_what_it_cannot_hold() {
    let (now, mut sink) = (origin(), Collector::default());
    let mut buffer = ReorderBuffer::new(Config::default());
    for number in [0, 10, 20, 29, 40] {
        buffer.receive(now, 0, number, number, &mut sink);
    }
    buffer.set_config(Config { window: Some(12), ..Config::default() }, &mut sink);
    assert_eq!(sink.delivered, [0, 10, 20, 29]);
    assert_eq!(buffer.due(), 30);
    buffer.set_config(Config { window: Some(0), ..Config::default() }, &mut sink);
    assert_eq!(sink.delivered, [0, 10, 20, 29, 40]);
    assert_eq!((buffer.occupancy(), buffer.due()), (0, 41));
}

#[test]
fn a_shorter_delay_holds_for_what_waits_already() {
    let (now, mut sink) = (origin(), Collector::default());
    let mut buffer = ReorderBuffer::new(Config::default());
    buffer.receive(now, 0, 0, 0, &mut sink);
    buffer.receive(now, 0, 2, 2, &mut sink);
    let later = now + Duration::from_millis(50);
    buffer.receive(later, 0, 4, 4, &mut sink);
    let max_delay = Duration::from_millis(60);
    buffer.set_config(Config { max_delay: Some(max_delay), ..Config::default() }, &mut sink);
    assert_eq!(buffer.next_timeout(), Some(now + max_delay));
    buffer.set_config(Config { max_delay: Some(Duration::ZERO), ..Config::default() }, &mut sink);
    assert_eq!(sink.delivered, [0, 2, 4]);
}

#[test]
fn strict_order_drops_late_packets_and_strays() {
    let (now, mut sink) = (origin(), Collector::default());
    let config = Config { late: Late::Drop, ..Config::default() };
    let mut buffer = ReorderBuffer::new(config);
    buffer.add_path(now, 0, 1);
    for number in [100, 102] {
        buffer.receive(now, 0, number, number, &mut sink); // one path: 101 is lost
    }
    assert_eq!(buffer.receive(now, 0, 101, 101, &mut sink), Verdict::LateDropped);
    assert_eq!(buffer.receive(now, 0, 1 << 20, 0, &mut sink), Verdict::StrayDropped);
    assert_eq!(sink.delivered, [100, 102]);
    assert_eq!((buffer.counters().dropped, buffer.counters().delivered()), (2, 2));
}

#[test]
fn without_usable_evidence_only_the_maximum_delay_ends_the_waiting() {
    let (now, mut sink) = (origin(), Collector::default());
    let mut buffer = ReorderBuffer::new(Config::default());
    buffer.add_path(now, 0, 1);
    buffer.set_evidence(false);
    buffer.receive(now, 0, 0, 0, &mut sink);
    buffer.receive(now, 0, 2, 2, &mut sink);
    assert_eq!(buffer.occupancy(), 1);
    buffer.set_evidence(true);
    buffer.receive(now, 0, 4, 4, &mut sink);
    buffer.handle_timeout(now + Config::default().max_delay(), &mut sink);
    assert_eq!(sink.delivered, [0, 2, 4]);
}
