//! Paths of different delays look equally long to TCP, and nothing else changes.

use std::time::{Duration, Instant};

use mpt_core::reorder::{Class, Config, Equalize, EqualizedBuffer, Late};
use proptest::prelude::*;

use super::harness::{Collector, origin};

const TCP: Class = Class::Payload { flow: 0, large: true };

const fn class(tcp: bool) -> Class {
    if tcp { TCP } else { Class::Other }
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A window over two paths, the first of which is 50 ms shorter.
fn window(now: Instant, config: Config) -> EqualizedBuffer<u32> {
    let mut window = EqualizedBuffer::new(config);
    window.buffer_mut().add_path(now, 0, 1);
    window.buffer_mut().add_path(now, 1, 1);
    window.set_lead(0, ms(50));
    window
}

/// Runs until nothing waits; gives what was delivered, and when.
fn run(window: &mut EqualizedBuffer<u32>, sink: &mut Collector) -> Vec<(Instant, u32)> {
    let mut times = Vec::new();
    while let Some(at) = window.next_timeout() {
        let before = sink.delivered.len();
        window.handle_timeout(at, sink);
        times.extend(sink.delivered[before..].iter().map(|&number| (at, number)));
        assert!(window.next_timeout().is_none_or(|next| next > at), "nothing is left that is due");
    }
    times
}

#[test]
fn of_tcp_alone_by_default() {
    let (start, mut sink) = (origin(), Collector::default());
    let mut window = window(start, Config::default());
    window.receive(start, 0, 0, 0, TCP, &mut sink);
    assert_eq!((sink.delivered.len(), window.waiting(), window.equalized()), (0, 1, 1));
    assert_eq!(run(&mut window, &mut sink), [(start + ms(50), 0)]);

    // Another protocol is not held, and neither is the longer path.
    window.receive(start + ms(60), 0, 1, 1, Class::Other, &mut sink);
    window.receive(start + ms(60), 1, 2, 2, TCP, &mut sink);
    assert_eq!(sink.delivered, [0, 1, 2]);
    assert_eq!((window.waiting(), window.next_timeout()), (0, None));
}

#[test]
fn of_every_protocol_or_of_none_where_so_configured() {
    for (equalize, held) in [(Equalize::All, [1, 1]), (Equalize::Off, [0, 0])] {
        for (tcp, held) in [true, false].into_iter().zip(held) {
            let (start, mut sink) = (origin(), Collector::default());
            let mut window = window(start, Config { equalize, ..Config::default() });
            window.receive(start, 0, 0, 0, class(tcp), &mut sink);
            assert_eq!(window.waiting(), held, "{equalize:?}, tcp {tcp}");
        }
    }
}

#[test]
fn without_overtaking_on_their_path() {
    let (start, mut sink) = (origin(), Collector::default());
    let mut window = window(start, Config::default());
    window.receive(start, 0, 0, 0, TCP, &mut sink);
    // It would be taken as proof that the one before is lost.
    window.receive(start + ms(1), 0, 1, 1, Class::Other, &mut sink);
    assert_eq!(sink.delivered, [0; 0]);
    assert_eq!(run(&mut window, &mut sink), [(start + ms(50), 0), (start + ms(50), 1)]);
    assert_eq!(window.buffer().counters().lost, 0);
}

#[test]
fn by_no_more_than_the_maximum_delay_and_not_for_what_nobody_notices() {
    let start = origin();
    let mut window = window(start, Config { max_delay: Some(ms(30)), ..Config::default() });
    assert_eq!(window.lead(0), ms(30));
    window.set_lead(0, ms(4));
    assert_eq!(window.lead(0), Duration::ZERO);
    let mut sink = Collector::default();
    window.receive(start, 0, 0, 0, TCP, &mut sink);
    assert_eq!(sink.delivered, [0]);
}

#[test]
fn until_their_path_goes_down_or_all_is_flushed() {
    let start = origin();
    for how in 0..4 {
        let mut sink = Collector::default();
        let mut window = window(start, Config::default());
        (0..5).for_each(|number| window.receive(start, 0, number, number, TCP, &mut sink));
        assert_eq!(window.waiting(), 5);
        let now = start + ms(1);
        match how {
            0 => window.path_down(now, 0),
            1 => window.remove_path(now, 0),
            2 => window.flush(now, &mut sink),
            _ => window.restart(now, 0, &mut sink),
        }
        assert!(how > 1 || window.next_timeout() == Some(now), "due at once");
        window.handle_timeout(now, &mut sink);
        assert_eq!(sink.delivered, [0, 1, 2, 3, 4]);
        assert_eq!((window.waiting(), window.buffer().counters().lost), (0, 0));
    }
}

#[test]
fn in_bounded_numbers() {
    let (start, mut sink) = (origin(), Collector::default());
    let mut window = window(start, Config { window: Some(8), ..Config::default() });
    (0..20).for_each(|number| window.receive(start, 0, number, number, TCP, &mut sink));
    assert!(window.waiting() <= 8);
    // No more bytes may be kept.
    let (start, mut limited) = (origin(), Collector::limited(3));
    let mut window = self::window(start, Config::default());
    (0..20).for_each(|number| window.receive(start, 0, number, number, TCP, &mut limited));
    run(&mut window, &mut sink);
    run(&mut window, &mut limited);
    for sink in [sink, limited] {
        assert!(sink.delivered.iter().copied().eq(0..sink.delivered.len() as u32));
    }
}

#[test]
fn and_dropped_if_they_turn_out_to_be_duplicates_or_too_late() {
    let (start, mut sink) = (origin(), Collector::default());
    let mut window = window(start, Config { late: Late::Drop, ..Config::default() });
    window.receive(start, 0, 0, 0, TCP, &mut sink);
    window.receive(start, 0, 0, 0, TCP, &mut sink);
    run(&mut window, &mut sink);
    assert_eq!((sink.delivered, sink.discarded), (vec![0], vec![0]));
}

proptest! {
    /// Every packet comes once, in order, and on a shorter path not before its time, whatever the leads, which change.
    #[test]
    fn in_every_case_all_arrive_once_and_in_order(
        leads in prop::array::uniform3(0_u64..80),
        changed in prop::array::uniform3(0_u64..80),
        early_release: bool,
        packets in prop::collection::vec((0_usize..3, any::<bool>(), 0_u64..3_000), 1..300),
    ) {
        let (start, mut sink) = (origin(), Collector::default());
        let config = Config { max_delay: Some(ms(10_000)), early_release, ..Config::default() };
        let mut window = EqualizedBuffer::new(config);
        (0..3).for_each(|path| window.buffer_mut().add_path(start, path, 1));
        (0..3).for_each(|path| window.set_lead(path, ms(leads[path])));
        window.restart(start, 0, &mut sink);
        let mut now = start;
        let mut earliest = Vec::new();
        let mut delivered = Vec::new();
        let note = |now, sink: &Collector, delivered: &mut Vec<Instant>| {
            delivered.resize(sink.delivered.len(), now);
        };
        let half = packets.len() / 2;
        for (number, &(path, tcp, pause)) in packets.iter().enumerate() {
            if number == half {
                (0..3).for_each(|path| window.set_lead(path, ms(changed[path])));
            }
            let until = now + Duration::from_micros(pause);
            while let Some(at) = window.next_timeout().filter(|&at| at <= until) {
                window.handle_timeout(at, &mut sink);
                note(at, &sink, &mut delivered);
            }
            now = until;
            let lead = if tcp { window.lead(path) } else { Duration::ZERO };
            earliest.push(now + lead);
            window.receive(now, path, number as u32, number as u32, class(tcp), &mut sink);
            note(now, &sink, &mut delivered);
        }
        while let Some(at) = window.next_timeout() {
            window.handle_timeout(at, &mut sink);
            note(at, &sink, &mut delivered);
        }
        let mut numbers = sink.delivered.clone();
        if early_release {
            // A packet for which one protocol has to wait, and the other has not, looks late: the evidence may err.
            numbers.sort_unstable();
        }
        prop_assert!(numbers.into_iter().eq(0..packets.len() as u32));
        for (&number, at) in sink.delivered.iter().zip(&delivered) {
            let early = *at + Duration::from_micros(200) < earliest[number as usize];
            prop_assert!(!early, "{number} came too early");
        }
        prop_assert_eq!(window.waiting(), 0);
    }
}
