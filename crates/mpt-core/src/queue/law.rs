//! The drop law: the times at which a bulk flow gets a drop or a mark.

use std::time::{Duration, Instant};

/// The bound on the time that a bulk flow's packets wait, and how it is enforced.
///
/// Once the sojourn time of a flow's head has been above `target` for `interval`, one segment of the
/// flow is dropped or marked, and then no other one for the pause of `pauses.rs`.
///
/// This deviates deliberately from RFC 8289. CoDel's law drops at intervals that shrink with the
/// square root of the drops, beginning at 100 ms with a target of 5 ms. Behind a tunnel that repairs
/// losses, bursts stand in the queue for longer than that although the flow does not send too much,
/// and the law empties the pipe. A sender reacts to a drop after one round trip, and that round trip
/// contains this queue. So a second signal within `round_trip` + sojourn time tells the sender
/// nothing new, and half as much again leaves room for the reaction to reach the queue. Two to five
/// drops in 12 s keep one CUBIC flow (RFC 9438) at full use of its paths.
///
/// The parameters of the law. As in RFC 8289 section 4.2 a flow of which only one segment waits has
/// no standing queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Law {
    /// The sojourn time that is still allowed.
    pub(super) target: Duration,
    /// The time for which the sojourn time may exceed `target`.
    pub(super) interval: Duration,
    /// The time in which a sender reacts to a signal, without the sojourn time.
    pub(super) round_trip: Duration,
}

/// The most by which a wait may exceed the time that counts.
const LENIENCE: u32 = 8;

/// Returns how much of the time that a flow's head has `waited` counts while `bytes` wait in the queue:
/// no more than they would take at `best_rate`, the highest rate of late in bytes per second, but an
/// eighth at least. Without a rate all of it counts.
///
/// A rate that falls makes the wait longer although the flow sends no more. If the flow gets a drop
/// for that, its window is too small when the rate returns, and it takes many round trips to grow.
pub(super) fn counted(waited: Duration, bytes: usize, best_rate: u64) -> Duration {
    let Some(micros) = (bytes as u64 * 1_000_000).checked_div(best_rate) else { return waited };
    waited.min(Duration::from_micros(micros)).max(waited / LENIENCE)
}

/// The state of one flow in the law.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// The time since which the sojourn time of the head is above the target, as far as it was
    /// examined.
    above_since: Option<Instant>,
}

impl Standing {
    /// The flow has no standing queue.
    #[inline]
    pub(super) const fn relax(&mut self) {
        self.above_since = None;
    }

    /// Returns whether a queue has stood for long enough for a signal. `sojourn`: of the flow's head.
    #[inline]
    pub(super) fn is_due(&mut self, law: Law, now: Instant, sojourn: Duration) -> bool {
        if sojourn <= law.target {
            self.relax();
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        now.saturating_duration_since(since) >= law.interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_counts_as_long_as_it_would_take_at_the_best_rate_of_late() {
        let counted =
            |millis, bytes, rate| counted(Duration::from_millis(millis), bytes, rate).as_millis();
        assert_eq!(counted(400, 1_000_000, 10_000_000), 100, "the rate has fallen to a quarter");
        assert_eq!(counted(50, 1_000_000, 10_000_000), 50, "the rate is higher than ever of late");
        assert_eq!(counted(4_000, 1_000_000, 10_000_000), 500, "an eighth");
        assert_eq!(counted(400, 1_000_000, 0), 400, "no rate is known");
    }
}
