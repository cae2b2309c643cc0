//! Search for the highest rate at which almost nothing is lost.

use anyhow::Result;

/// Share of the packets that may be lost.
const LOSS: f64 = 0.01;
/// Largest factor between two steps upwards: the first guess is mostly a good one.
const STRIDE: f64 = 1.2;
/// Precision of the rate at which the search ends, as a factor.
const PRECISION: f64 = 1.04;
/// Share of the requested rate from which the sender has kept up; below it, the sender was the limit.
const KEPT_UP: f64 = 0.97;

/// The result of one attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Attempt {
    /// Packets sent, per second.
    pub(super) offered: f64,
    /// Packets received, per second.
    pub(super) received: f64,
    /// Share of the packets lost, 0 to 1.
    pub(super) loss: f64,
}

/// Looks for the highest rate at which less than 1 % is lost, in at most `attempts` attempts, and returns the packets per second that were received
/// then: 0 when no attempt was good enough.
///
/// `attempt` sends at the given rate in packets per second; `None` is as fast as it goes. The first attempt is that one; after it the rate is
/// bisected, on a logarithmic scale, between a good rate and one that was too fast. A rate is too fast when it fails twice: one hiccup of the machine
/// is no limit.
pub(super) fn highest_rate(
    attempts: u32,
    mut attempt: impl FnMut(Option<f64>) -> Result<Attempt>,
) -> Result<f64> {
    let first = attempt(None)?;
    if first.loss < LOSS {
        return Ok(first.received);
    }
    let (mut good, mut best, mut too_fast) = (None, 0.0_f64, first.offered);
    // An overloaded receiver may receive far less than it could.
    let mut rate = (first.received * 0.95).max(too_fast / 8.0).min(too_fast / PRECISION);
    let mut failed = false;
    for _ in 1..attempts {
        let result = attempt(Some(rate))?;
        if result.loss < LOSS {
            best = best.max(result.received);
            good = Some(rate);
            failed = false;
            if result.offered < rate * KEPT_UP {
                break;
            }
        } else if failed {
            too_fast = rate;
            failed = false;
        } else {
            failed = true;
            continue;
        }
        rate = match good {
            Some(good) if too_fast / good < PRECISION => break,
            Some(good) => (good * too_fast).sqrt().min(good * STRIDE),
            None => too_fast * 0.6,
        };
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a receiver that takes `capacity` and loses the rest, behind a sender that sends at most `most`.
    fn channel(capacity: f64, most: f64) -> impl FnMut(Option<f64>) -> Result<Attempt> {
        move |rate| {
            let offered = rate.unwrap_or(most).min(most);
            let received = offered.min(capacity);
            Ok(Attempt { offered, received, loss: 1.0 - received / offered })
        }
    }

    #[test]
    fn a_sender_that_never_loses_anything_is_asked_once() {
        let mut attempts = 0;
        let mut channel = channel(300.0, 200.0);
        let found = highest_rate(7, |rate| {
            attempts += 1;
            channel(rate)
        });
        assert_eq!((found.unwrap(), attempts), (200.0, 1));
    }

    #[test]
    fn a_receiver_that_collapses_under_load_is_still_found_out() {
        // Above 100 the receiver receives next to nothing.
        let collapse = |rate: Option<f64>| {
            let offered = rate.unwrap_or(1000.0);
            let received = if offered > 100.0 { 10.0 } else { offered };
            Ok(Attempt { offered, received, loss: 1.0 - received / offered })
        };
        let found = highest_rate(20, collapse).unwrap();
        assert!((95.0..=100.0).contains(&found), "{found}");
    }

    #[test]
    fn one_hiccup_is_no_limit() {
        let mut channel = channel(100.0, 400.0);
        let mut count = 0;
        let found = highest_rate(10, |rate| {
            count += 1;
            let attempt = channel(rate)?;
            Ok(if count == 2 { Attempt { loss: 0.5, ..attempt } } else { attempt })
        });
        assert!(found.unwrap() >= 95.0);
    }

    #[test]
    fn where_everything_is_lost_the_rate_is_zero() {
        let nothing = |rate: Option<f64>| {
            Ok(Attempt { offered: rate.unwrap_or(1000.0), received: 0.0, loss: 1.0 })
        };
        assert_eq!(highest_rate(7, nothing).unwrap(), 0.0);
    }

    proptest! {
        #[test]
        fn the_capacity_is_found(capacity in 1e3..1e6_f64, faster in 1.05..8.0_f64) {
            let found = highest_rate(10, channel(capacity, capacity * faster)).unwrap();
            // 1 % loss is allowed, so slightly more than the capacity may be offered.
            prop_assert!(found <= capacity);
            prop_assert!(found >= capacity / 1.06, "{found} of {capacity}");
        }
    }
}
