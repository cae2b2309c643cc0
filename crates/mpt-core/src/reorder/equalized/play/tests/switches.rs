//! Play-out that begins or ends in the middle of a flow. Packets that wait change their place, and
//! keep their order.

use super::{BULK, Receiver, by_turns};
use crate::reorder::playout::Class;

/// The number that is a ping among those of a flow.
const PING: u32 = 46;

/// Delays of two paths, in milliseconds, that differ by enough for a hold, and ones that do not.
/// Both have the same longest path, so that the hold ends at once.
const HELD: [u32; 2] = [10, 20];
const NOT_HELD: [u32; 2] = [19, 20];

fn probe(receiver: &mut Receiver, micros: u64, delays: [u32; 2]) {
    for (path, delay) in delays.into_iter().enumerate() {
        receiver.probed(path, delay, 0);
    }
    receiver.told(micros, &[]);
}

/// A flow of 100 packets, one each millisecond, by turns over paths of 10 and 20 ms, that probes
/// find as long as `before`, and as long as `after` from 50 ms on.
fn flow(before: [u32; 2], after: [u32; 2]) -> Receiver {
    let mut receiver = Receiver::new(before, 0);
    let mut held = None;
    for (at, path, n) in by_turns(HELD, 100) {
        if at >= 50_000 && held.is_none() {
            held = Some(receiver.window.playing);
            probe(&mut receiver, at, after);
        }
        receiver.receive(at, path, n, if n == PING { Class::Other } else { BULK });
    }
    assert_ne!(held, Some(receiver.window.playing), "the hold begins or ends");
    receiver.run(1_000_000);
    receiver
}

fn assert_in_order(receiver: &Receiver) {
    let delivered: Vec<u32> = receiver.delivered().into_iter().map(|(_, n)| n).collect();
    let bulk: Vec<u32> = delivered.iter().copied().filter(|&n| n != PING).collect();
    assert!(bulk.is_sorted() && delivered.len() == 100, "{delivered:?}");
    let counters = receiver.window.buffer().counters();
    assert_eq!((counters.late, counters.packets()), (0, 100), "{counters:?}");
    assert_eq!(receiver.window.waiting(), 0);
}

#[test]
fn a_hold_that_ends_breaks_no_order() {
    assert_in_order(&flow(HELD, NOT_HELD));
}

#[test]
fn a_hold_that_begins_breaks_no_order() {
    assert_in_order(&flow(NOT_HELD, HELD));
}

/// A copy of a ping that was delivered ahead of a missing number comes after the hold has begun or
/// ended.
#[test]
fn what_was_delivered_before_the_hold_changed_is_not_delivered_again() {
    for [before, after] in [[HELD, NOT_HELD], [NOT_HELD, HELD]] {
        let mut receiver = Receiver::new(before, 0);
        for (at, path, n, class) in [
            (10_000, 0, 0, BULK),
            (12_000, 0, 2, BULK),
            (13_000, 0, 3, Class::Other),
            (14_000, 0, 4, BULK),
        ] {
            receiver.receive(at, path, n, class);
        }
        probe(&mut receiver, 14_500, after);
        for (at, path, n, class) in [
            (15_000, 0, 5, BULK),
            (16_000, 1, 1, BULK),
            (17_000, 1, 3, Class::Other),
            (18_000, 0, 6, BULK),
        ] {
            receiver.receive(at, path, n, class);
        }
        receiver.run(1_000_000);
        let mut delivered: Vec<u32> = receiver.delivered().into_iter().map(|(_, n)| n).collect();
        let bulk: Vec<u32> = delivered.iter().copied().filter(|&n| n != 3).collect();
        assert_eq!(bulk, [0, 1, 2, 4, 5, 6], "{before:?} ms, then {after:?}: {delivered:?}");
        delivered.sort_unstable();
        assert_eq!(delivered, [0, 1, 2, 3, 4, 5, 6], "{before:?} ms, then {after:?}");
        assert_eq!(receiver.window.buffer().counters().duplicate, 1);
    }
}
