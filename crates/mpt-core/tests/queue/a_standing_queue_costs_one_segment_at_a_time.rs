//! The law: a bulk flow whose head has waited longer than the target for one interval loses one
//! segment, and the next one not before 1.5 times target and sojourn time have passed.

use std::time::{Duration, Instant};

use super::harness::{Owner, WIDE, ms, origin, packet};

const TARGET: Duration = ms(40);
const INTERVAL: Duration = ms(50);

/// Serves one flow's queue each millisecond, after filling it up to `waiting` packets (a function of
/// the time in milliseconds), so that each packet waits for about as many milliseconds. Returns the
/// times of the drops.
fn drops(until: u64, waiting: impl Fn(u64) -> usize) -> Vec<u64> {
    let (mut owner, start) = (Owner::new(WIDE), origin());
    owner.queue.set_target(TARGET, INTERVAL);
    let mut drops = Vec::new();
    for t in 0..until {
        let now = start + ms(t);
        while owner.queue.len_packets() < waiting(t) {
            owner.push(now, packet(0, 1, 1514)).unwrap();
        }
        let before = owner.queue.counters().dropped;
        owner.pop(now);
        let after = owner.queue.counters().dropped;
        assert!(after - before <= 1);
        if after > before {
            drops.push(t);
        }
    }
    assert_eq!(owner.queue.counters().overflowed, 0);
    drops
}

#[test]
fn a_queue_below_the_target_costs_nothing() {
    assert_eq!(drops(5000, |_| 40), []);
}

#[test]
fn a_burst_that_ends_within_the_interval_costs_nothing() {
    // The burst of 100 ms has waited longer than the target from 141 ms until all of it has left, at 180 ms.
    assert_eq!(drops(5000, |t| if t == 100 { 80 } else { 5 }), []);
    // It is the interval that is not over: a burst that takes longer costs one segment.
    assert_eq!(drops(5000, |t| if t == 100 { 95 } else { 5 }), [191]);
}

#[test]
fn a_standing_queue_costs_a_segment_per_one_and_a_half_times_target_and_sojourn() {
    let drops = drops(5000, |_| 100);
    // The head has waited above 40 ms from 41 ms on: the first drop is at 91 ms.
    assert_eq!(drops[0], 91);
    for pair in drops.windows(2) {
        let pause = pair[1] - pair[0];
        assert!((195..=211).contains(&pause), "after {} ms: {pause} ms", pair[0]);
    }
    assert!(drops.len() > 20);
}

#[test]
fn the_interval_begins_anew_after_the_queue_was_short() {
    // The queue of 40 ms is over the target until about 120 ms, and the one from 1000 ms on is.
    let drops = drops(2000, |t| if (40..1000).contains(&t) { 10 } else { 80 });
    let (before, after): (Vec<u64>, Vec<u64>) = drops.into_iter().partition(|&t| t < 1000);
    assert_eq!(before, [91]);
    assert!((1090..=1095).contains(&after[0]), "{after:?}");
}

/// Bursts of 150 ms with pauses of 150 ms between them, each of which waits longer than the target for 110 ms.
fn drops_of_bursts(round_trip: Duration) -> u64 {
    let (mut owner, start) = (Owner::new(WIDE), origin());
    owner.queue.set_target_over(TARGET, INTERVAL, round_trip);
    for t in 0..3_000 {
        let now = start + ms(t);
        while t % 300 == 0 && owner.queue.len_packets() < 150 {
            owner.push(now, packet(0, 1, 1514)).unwrap();
        }
        owner.pop(now);
    }
    owner.queue.counters().dropped
}

#[test]
fn the_pause_outlasts_an_empty_queue() {
    // 1.5 x (40 + 90) ms are over before the next burst has waited for long, 300 ms later, and
    // 1.5 x (300 + 90) ms are not. 1.5 x (500 + 90) ms are over by the fourth.
    assert_eq!([ms(40), ms(300), ms(500)].map(drops_of_bursts), [10, 5, 4]);
}

#[test]
fn the_target_follows_its_owner() {
    let (mut owner, start) = (Owner::new(WIDE), origin());
    let serve = |owner: &mut Owner, from: u64, to: u64| {
        let before = owner.queue.counters().dropped;
        for t in from..to {
            let now = start + ms(t);
            while owner.queue.len_packets() < 100 {
                owner.push(now, packet(0, 1, 1514)).unwrap();
            }
            owner.pop(now);
        }
        owner.queue.counters().dropped - before
    };
    assert_eq!(serve(&mut owner, 0, 1000), 0, "without a target");
    owner.queue.set_target(ms(200), ms(200));
    assert_eq!(serve(&mut owner, 1000, 2000), 0);
    owner.queue.set_target(ms(50), ms(50));
    assert!(serve(&mut owner, 2000, 3000) > 2);
    owner.queue.set_target(ms(200), ms(200));
    assert_eq!(serve(&mut owner, 3000, 4000), 0);
}

#[test]
fn the_last_segment_of_a_flow_stays() {
    let (mut owner, start) = (Owner::new(WIDE), origin());
    owner.queue.set_target(ms(1), ms(1));
    let bulk_turn = |owner: &mut Owner, now: Instant| {
        // Flow 1 has one segment at a time beside a bulk flow, and each waits for long.
        owner.push(now, packet(1, 1, 1514)).unwrap();
        while owner.queue.len_segments() < 200 {
            owner.push(now, packet(0, 44, 1514)).unwrap();
        }
        let late = now + ms(500);
        while let Some(left) = owner.pop(late) {
            if left.tag == 1 {
                break;
            }
        }
    };
    for n in 0..100 {
        bulk_turn(&mut owner, start + ms(1000 * n));
    }
    let now = start + ms(100_000);
    let mut lost = 0;
    while let Some(dropped) = owner.pop_dropped() {
        lost += u64::from(dropped.tag == 1);
    }
    owner.drain(now, 2);
    assert_eq!(lost, 0);
}
