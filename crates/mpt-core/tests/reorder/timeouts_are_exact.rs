//! The deadlines the window asks for.

use std::time::Duration;

use mpt_core::reorder::{Config, ReorderBuffer, Verdict};

use super::harness::{Collector, origin};

const DELAY: Duration = Duration::from_millis(300);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn the_oldest_packet_waits_the_maximum_delay_and_not_longer() {
    let start = origin();
    let mut sink = Collector::default();
    let mut buffer = ReorderBuffer::new(Config { early_release: false, ..Config::default() });
    let receive = |buffer: &mut ReorderBuffer<u32>, at: u64, n: u32, sink: &mut Collector| {
        buffer.receive(start + ms(at), 0, n, n, sink)
    };
    assert_eq!(buffer.next_timeout(), None);
    assert_eq!(receive(&mut buffer, 0, 0, &mut sink), Verdict::InOrder);
    assert_eq!(buffer.next_timeout(), None);
    // The oldest is 9, then 3: the latter is delivered with 9, which is before 12 can be.
    for (at, number) in [(10, 9), (20, 12), (30, 3), (40, 4)] {
        assert_eq!(receive(&mut buffer, at, number, &mut sink), Verdict::Stored);
        assert_eq!(buffer.next_timeout(), Some(start + ms(10) + DELAY));
    }
    buffer.handle_timeout(start + ms(309), &mut sink);
    assert_eq!(sink.delivered, [0]);
    buffer.handle_timeout(start + ms(310), &mut sink);
    assert_eq!(sink.delivered, [0, 3, 4, 9]);
    assert_eq!(buffer.next_timeout(), Some(start + ms(20) + DELAY));
    assert_eq!(receive(&mut buffer, 311, 10, &mut sink), Verdict::InOrder);
    assert_eq!(receive(&mut buffer, 312, 11, &mut sink), Verdict::InOrder);
    assert_eq!(sink.delivered, [0, 3, 4, 9, 10, 11, 12]);
    assert_eq!(buffer.next_timeout(), None);
}

#[test]
fn a_packet_that_comes_with_the_deadline_is_served_before_the_gap_is_given_up() {
    let start = origin();
    let mut sink = Collector::default();
    let mut buffer = ReorderBuffer::new(Config::default());
    buffer.receive(start, 0, 0, 0, &mut sink);
    buffer.receive(start, 0, 2, 2, &mut sink);
    buffer.receive(start + DELAY, 0, 1, 1, &mut sink);
    assert_eq!(sink.delivered, [0, 1, 2]);
    assert_eq!(buffer.counters().late, 0);
}

/// While one path carries everything in order, nobody has a reason to look at what was announced. What was announced before the path went
/// down says nothing afterwards.
#[test]
fn a_path_that_goes_down_is_waited_for_no_longer_whatever_was_announced_for_it_before() {
    let start = origin();
    let mut sink = Collector::default();
    let mut buffer = ReorderBuffer::new(Config::default());
    for path in [0, 1] {
        buffer.add_path(start, path, 1);
        buffer.announce(start, 0, path, 1);
    }
    // In order, all by one path.
    for number in 0..8 {
        buffer.receive(start, 0, number, number, &mut sink);
    }
    buffer.path_down(start + ms(10), 0);
    buffer.receive(start + ms(20), 1, 12, 12, &mut sink);
    assert_eq!(sink.delivered.last(), Some(&12), "nothing is expected of path 0");
}

#[test]
fn a_path_that_goes_down_is_waited_for_no_longer() {
    let start = origin();
    let mut sink = Collector::default();
    let mut buffer = ReorderBuffer::new(Config::default());
    buffer.add_path(start, 0, 1);
    buffer.add_path(start, 1, 1);
    for number in 0..10 {
        buffer.receive(start + ms(number.into()), number as usize % 2, number, number, &mut sink);
    }
    buffer.receive(start + ms(10), 0, 12, 12, &mut sink);
    assert_eq!(buffer.next_timeout(), Some(start + ms(310)));
    buffer.path_down(start + ms(20), 1);
    assert_eq!(buffer.next_timeout(), Some(start + ms(20)));
    buffer.handle_timeout(start + ms(20), &mut sink);
    assert_eq!(sink.delivered.last(), Some(&12));
    assert_eq!((buffer.counters().lost, buffer.counters().after_gap), (2, 1));
}

#[test]
fn a_path_out_of_order_is_given_its_lag() {
    let start = origin();
    let mut sink = Collector::default();
    let mut buffer = ReorderBuffer::new(Config::default());
    buffer.add_path(start, 0, 1);
    buffer.receive(start, 0, 0, 0, &mut sink);
    // On a path that is first-in-first-out, what is passed is lost: 1, 3, 5 and 7 come 2 ms late.
    for i in 1..=4 {
        let at = start + ms(u64::from(10 * i));
        assert_eq!(buffer.receive(at, 0, 2 * i, 2 * i, &mut sink), Verdict::Stored);
        assert_eq!(buffer.occupancy(), 0);
        assert_eq!(buffer.receive(at + ms(2), 0, 2 * i - 1, 0, &mut sink), Verdict::Late);
    }
    // From then on they are waited for.
    buffer.receive(start + ms(50), 0, 10, 10, &mut sink);
    assert_eq!(buffer.next_timeout(), Some(start + ms(52)));
    assert_eq!(buffer.receive(start + ms(52), 0, 9, 9, &mut sink), Verdict::InOrder);
    buffer.receive(start + ms(60), 0, 12, 12, &mut sink);
    buffer.handle_timeout(start + ms(62), &mut sink);
    assert_eq!(buffer.occupancy(), 0);
    // And are no longer, 20 s later.
    let at = start + Duration::from_secs(21);
    buffer.receive(at, 0, 14, 14, &mut sink);
    assert_eq!(buffer.next_timeout(), None);
}
