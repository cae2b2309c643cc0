//! A CUBIC flow (RFC 9438) through the queue keeps a link busy with few drops and a short queue.
//! The target is one round-trip time, the interval that but at least 50 ms.

use std::collections::VecDeque;
use std::time::Duration;

use super::harness::{Owner, WIDE, ms, origin, packet};

/// The results of 12 s of one flow, after the first 8 s.
#[derive(Debug)]
struct Outcome {
    /// Part of the link's time that it was busy for.
    busy: f64,
    drops: u64,
    longest_wait: Duration,
}

/// A link that sends one segment each `slot`, and `rtt` without queues. The sender learns of an
/// acknowledgement or loss one `rtt` after the segment left or was dropped.
fn run(slot: Duration, rtt: Duration) -> Outcome {
    const BETA: f64 = 0.7;
    const C: f64 = 0.4;
    let (mut owner, start) = (Owner::new(WIDE), origin());
    owner.queue.set_target(rtt, rtt.max(ms(50)));
    let bdp = rtt.as_secs_f64() / slot.as_secs_f64();
    let (mut window, mut max, mut epoch) = (bdp, bdp, start);
    let (mut flight, mut recovered) = (0_u64, start);
    // When the sender learns of so many segments that left, and whether of one that was lost.
    let mut feedback = VecDeque::new();
    let mut result = Outcome { busy: 0.0, drops: 0, longest_wait: Duration::ZERO };
    let slots = (20.0 / slot.as_secs_f64()) as u32;
    let first = slots * 8 / 20;
    for n in 0..slots {
        let now = start + slot * n;
        while let Some(&(at, lost)) = feedback.front()
            && at <= now
        {
            feedback.pop_front();
            flight -= 1;
            if lost && now >= recovered {
                (max, epoch) = (window, now);
                window *= BETA;
                recovered = now + rtt;
            }
        }
        if now >= recovered {
            // RFC 9438, figures 1 and 2.
            let k = (max * (1.0 - BETA) / C).cbrt();
            window = C * ((now - epoch).as_secs_f64() - k).powi(3) + max;
        }
        while (flight as f64) < window {
            owner.push(now, packet(0, 1, 1500)).unwrap();
            flight += 1;
        }
        let before = owner.queue.counters().dropped;
        let left = owner.pop(now);
        let drops = owner.queue.counters().dropped - before;
        feedback.extend((0..drops).map(|_| (now + rtt, true)));
        if let Some(left) = left {
            feedback.push_back((now + rtt, false));
            if n >= first {
                result.busy += 1.0 / f64::from(slots - first);
                result.longest_wait = result.longest_wait.max(left.waited);
            }
        }
        if n >= first {
            result.drops += drops;
        }
    }
    result
}

#[test]
fn at_different_rates_and_round_trip_times() {
    for (mbit, rtt) in [(10, 40), (50, 40), (50, 100), (200, 20)] {
        let slot = Duration::from_nanos(1500 * 8 * 1000 / mbit);
        let result = run(slot, ms(rtt));
        let good = result.busy > 0.99
            && (1..=5).contains(&result.drops)
            && result.longest_wait < ms(rtt + rtt.max(50));
        assert!(good, "{mbit} Mbit/s, {rtt} ms: {result:?}");
    }
}
