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
