//! A sparse flow's packet leaves before the next turn of any bulk flow: it waits for what a flow
//! may still send of its quantum, however much queues, and the law spares it.

use mpt_core::queue::QUANTUM;

use super::harness::{Owner, WIDE, ms, origin, packet};

const BULK: u64 = 20;

/// 20 bulk flows with 50 super-packets each, that have had turns.
fn loaded() -> (Owner, std::time::Instant) {
    let (mut owner, now) = (Owner::new(WIDE), origin());
    for n in 0..50 * BULK {
        owner.push(now, packet(n % BULK, 44, 1400)).unwrap();
    }
    for _ in 0..10 * BULK {
        owner.pop(now).unwrap();
    }
    (owner, now)
}

#[test]
fn beside_twenty_bulk_flows() {
    let (mut owner, now) = loaded();
    for n in 0..300 {
        owner.push(now, packet(500 + n, 1, 100)).unwrap();
        let mut before = 0;
        loop {
            let left = owner.pop(now).unwrap();
            if left.tag == 500 + n {
                assert!(left.sparse);
                break;
            }
            assert!(!left.sparse);
            before += left.bytes;
        }
        assert!(before <= QUANTUM, "{before} bytes before packet {n}");
        // The bulk flows' turns go on at a different place each time.
        for _ in 0..n % 7 {
            owner.pop(now).unwrap();
        }
    }
}

#[test]
fn and_a_flow_that_sends_more_than_a_quantum_is_bulk() {
    let (mut owner, now) = loaded();
    owner.push(now, packet(500, 3, 1000)).unwrap();
    let sparse: Vec<bool> = std::iter::from_fn(|| owner.pop(now))
        .filter(|left| left.tag == 500)
        .map(|left| left.sparse)
        .collect();
    assert_eq!(sparse, [true, true, false]);
}

#[test]
fn and_a_flow_cannot_stay_sparse_by_emptying_its_queue() {
    let (mut owner, now) = loaded();
    let mut bytes = [0; 2];
    let mut waits = false;
    // Its packet comes once a segment of another flow has left after the last one.
    for _ in 0..2000 {
        let left = owner.pop(now).unwrap();
        bytes[usize::from(left.tag == 500)] += u64::from(left.bytes);
        if left.tag == 500 {
            waits = false;
        } else if !waits {
            owner.push(now, packet(500, 1, 1000)).unwrap();
            waits = true;
        }
    }
    let share = bytes[1] * BULK;
    assert!(share < bytes[0] * 2, "{} bytes beside {}", bytes[1], bytes[0]);
}

#[test]
fn and_the_law_spares_it_however_long_it_waited() {
    let (mut owner, start) = loaded();
    owner.queue.set_target(ms(1), ms(1));
    for second in 0..60 {
        let now = start + ms(1000 * second);
        owner.push(now, packet(500 + second, 2, 100)).unwrap();
        let late = now + ms(900);
        let left = std::iter::from_fn(|| owner.pop(late)).take(3);
        assert_eq!(left.filter(|left| left.tag == 500 + second && left.sparse).count(), 2);
    }
    assert!(owner.queue.counters().dropped > 0, "bulk flows are dropped from");
}
