//! Packets wait longer where the rate of the paths falls, although the flow sends no more than before. That is no
//! reason for a drop while they would not wait too long at the best rate of late.

use mpt_core::queue::Waiting;

use super::harness::{Owner, WIDE, ms, origin, packet};

/// The rate at first: a packet each millisecond.
const BEST_RATE: u64 = 1_514_000;

/// Keeps 80 packets of one flow waiting, of which one leaves each millisecond for a second, and then one each `slower`
/// milliseconds for 4 s. Packets may wait for 100 ms. Returns the number of drops.
fn drops(slower: u64, spreads: bool, best_rate: u64) -> u64 {
    let (mut owner, start) = (Owner::new(WIDE), origin());
    owner.queue.set_target(ms(100), ms(50));
    owner.queue.set_best_rate(best_rate);
    for t in 0..5_000 {
        let now = start + ms(t);
        while owner.queue.len_packets() < 80 {
            owner.push(now, Waiting { spreads, ..packet(0, 1, 1_514) }).unwrap();
        }
        if t < 1_000 || t.is_multiple_of(slower) {
            owner.pop(now);
        }
    }
    owner.queue.counters().dropped
}

#[test]
fn while_the_best_rate_is_remembered() {
    assert_eq!(drops(5, true, BEST_RATE), 0);
    assert!(drops(5, true, 0) > 0, "once it is forgotten");
}

#[test]
fn unless_its_packets_wait_for_eight_times_as_long() {
    assert!(drops(12, true, BEST_RATE) > 0);
}

#[test]
fn unless_it_keeps_to_one_path_of_which_the_rate_says_nothing() {
    assert!(drops(5, false, BEST_RATE) > 0);
}
