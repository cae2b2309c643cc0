//! Where acknowledgements queue up, those are dropped of which a later one says all that they do, and
//! no others.

use mpt_core::queue::{Limits, Waiting};
use mpt_wire::tcp::acknowledgement::{Acknowledgement, Block};

use super::harness::{Owner, WIDE, ms, origin, packet};

/// A plain acknowledgement of `number`.
fn acknowledgement(flow: u64, number: u32) -> Waiting<u64> {
    let tag = u64::from(number);
    let acknowledges = Some(Acknowledgement::plain(number));
    Waiting { acknowledges, tag, ..packet(flow, 1, 52) }
}

/// An acknowledgement of `number` and of the numbers from `from` to `to` beyond it, with `to` as its tag.
fn selective(number: u32, from: u32, to: u32) -> Waiting<u64> {
    let acknowledges = Some(Acknowledgement { number, block: Some(Block { from, to }) });
    Waiting { acknowledges, tag: u64::from(to), ..packet(0, 1, 64) }
}

/// The tags of what leaves at a time.
fn left(owner: &mut Owner, now: std::time::Instant) -> Vec<u64> {
    std::iter::from_fn(|| owner.pop(now)).map(|left| left.tag).collect()
}

/// An owner of a queue in which these have waited for so many milliseconds.
fn waiting(packets: &[Waiting<u64>], waited: u64) -> (Owner, std::time::Instant) {
    let (now, mut owner) = (origin(), Owner::new(Limits { packets: 100, ..WIDE }));
    for &packet in packets {
        owner.push(now, packet).unwrap();
    }
    (owner, now + ms(waited))
}

#[test]
fn of_those_that_have_waited_the_last_one_leaves() {
    let packets = [1, 2, 3, 4].map(|number| acknowledgement(0, number));
    let (mut owner, now) = waiting(&packets, 5);
    assert_eq!(left(&mut owner, now), [4]);
    let counters = owner.queue.counters();
    assert_eq!((counters.superseded, counters.dropped, counters.left), (3, 0, 1));
}

#[test]
fn those_that_hardly_waited_all_leave() {
    let packets = [1, 2, 3, 4].map(|number| acknowledgement(0, number));
    let (mut owner, now) = waiting(&packets, 4);
    assert_eq!(left(&mut owner, now), [1, 2, 3, 4]);
    assert_eq!(owner.queue.counters().superseded, 0);
}

#[test]
fn what_is_peeked_at_is_what_leaves() {
    let (mut owner, now) = waiting(&[acknowledgement(0, 1), acknowledgement(0, 2)], 5);
    assert_eq!(owner.queue.peek(now).map(|head| head.tag), Some(2));
    assert_eq!(left(&mut owner, now), [2]);
}

/// Several with one number tell the sender that a segment is lost.
#[test]
fn duplicate_acknowledgements_all_leave() {
    let packets = [1, 5, 5, 5, 9].map(|number| acknowledgement(0, number));
    let (mut owner, now) = waiting(&packets, 50);
    // The first goes for the 5 behind it, and the last 5 for the 9: two of three are left.
    assert_eq!(left(&mut owner, now), [5, 5, 9]);
}

#[test]
fn an_older_number_supersedes_nothing() {
    let (mut owner, now) = waiting(&[acknowledgement(0, 9), acknowledgement(0, 3)], 50);
    assert_eq!(left(&mut owner, now), [9, 3]);
}

#[test]
fn numbers_go_round() {
    let packets = [u32::MAX - 1, u32::MAX, 0, 1].map(|number| acknowledgement(0, number));
    let (mut owner, now) = waiting(&packets, 50);
    assert_eq!(left(&mut owner, now), [1]);
}

#[test]
fn what_says_more_stays_and_so_does_the_one_before_it() {
    let data = Waiting { tag: 100, ..packet(0, 1, 500) };
    let packets = [acknowledgement(0, 1), data, acknowledgement(0, 2), acknowledgement(0, 3)];
    let (mut owner, now) = waiting(&packets, 50);
    assert_eq!(left(&mut owner, now), [1, 100, 3]);
}

/// The block grows with each segment that arrives behind a missing one.
#[test]
fn of_selective_acknowledgements_the_last_one_leaves() {
    let packets = [12, 14, 16].map(|to| selective(5, 10, to));
    let (mut owner, now) = waiting(&packets, 50);
    assert_eq!(left(&mut owner, now), [16]);
}

#[test]
fn a_block_that_no_later_one_includes_leaves() {
    let blocks = [selective(5, 20, 22), selective(5, 10, 12), selective(5, 10, 13)];
    let (mut owner, now) = waiting(&blocks, 50);
    assert_eq!(left(&mut owner, now), [22, 13]);
    let (mut owner, now) = waiting(&[selective(5, 20, 22), acknowledgement(0, 9)], 50);
    assert_eq!(left(&mut owner, now), [22, 9]);
    let (mut owner, now) = waiting(&[selective(5, 20, 22), acknowledgement(0, 22)], 50);
    assert_eq!(left(&mut owner, now), [22], "all of it is acknowledged");
}

#[test]
fn the_same_block_again_is_a_duplicate() {
    let (mut owner, now) = waiting(&[selective(5, 10, 12); 3], 50);
    assert_eq!(left(&mut owner, now), [12, 12, 12]);
}

/// Flows that share a bucket are one flow to the queue, but not to this rule.
#[test]
fn another_flow_supersedes_nothing() {
    let shared = mpt_core::queue::BUCKETS as u64;
    for other in [1, shared] {
        let (mut owner, now) = waiting(&[acknowledgement(0, 1), acknowledgement(other, 2)], 50);
        assert_eq!(left(&mut owner, now), [1, 2]);
    }
}

#[test]
fn a_super_packet_is_no_acknowledgement() {
    let packets = [1, 2].map(|number| {
        let acknowledges = Some(Acknowledgement::plain(number));
        Waiting { acknowledges, ..packet(0, 2, 1_000) }
    });
    let (mut owner, now) = waiting(&packets, 50);
    assert_eq!(left(&mut owner, now).len(), 4);
}
