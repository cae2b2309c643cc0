//! The pauses between the signals that flows get.

use std::time::{Duration, Instant};

use super::flows::BUCKETS;
use super::law::Law;

/// The longest wait that counts, in round trips. A flow of which packets wait for longer does not react,
/// and would be without a signal for seconds after its queue has gone.
const LONGEST_WAIT: u32 = 4;

/// The time until which a flow gets no further signal, by bucket: 1.5 x (round trip + sojourn time) after
/// the last one, where the sojourn time counts up to [`LONGEST_WAIT`]. It outlasts the flow, which ends with
/// its queue: the receiver gets nothing in order until the dropped segment has come again, the sender
/// stops when its window is full, and the next window comes as one burst.
///
/// It takes 16 KiB from the first signal on, and before that nothing.
#[derive(Clone, Debug)]
pub(super) struct Pauses(Vec<Option<Instant>>);

impl Pauses {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Begins the pause of a flow, unless it is in one. Returns true if it begins, and the flow gets a
    /// signal. `sojourn`: of the flow's head.
    pub(super) fn begin(&mut self, bucket: u16, law: Law, now: Instant, sojourn: Duration) -> bool {
        if self.0.is_empty() {
            self.0 = vec![None; BUCKETS];
        }
        let Some(until) = self.0.get_mut(usize::from(bucket)) else { return false };
        let begins = until.is_none_or(|until| now >= until);
        if begins {
            let sojourn = sojourn.min(law.round_trip * LONGEST_WAIT);
            *until = Some(now + (law.round_trip + sojourn) * 3 / 2);
        }
        begins
    }
}
