//! Time as the receive window counts it.

use std::time::{Duration, Instant};

/// A time that does not come, in nanoseconds of the clock.
pub(super) const NEVER: u64 = u64::MAX;

/// Time as nanoseconds since the first call: smaller and cheaper to compare than [`Instant`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)] // kept small, see `ReorderBuffer`
pub(super) struct Clock {
    origin: Option<Instant>,
    /// The last time that was asked for, and its nanoseconds: the packets of a batch come at the same time.
    last: Option<Instant>,
    nanos: u64,
}

impl Clock {
    #[inline]
    pub(super) fn nanos(&mut self, now: Instant) -> u64 {
        if self.last != Some(now) {
            self.last = Some(now);
            self.nanos = self.since_origin(now);
        }
        self.nanos
    }

    fn since_origin(&mut self, now: Instant) -> u64 {
        let origin = *self.origin.get_or_insert(now);
        let since = now.saturating_duration_since(origin);
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }

    pub(super) fn instant(&self, nanos: u64) -> Option<Instant> {
        self.origin?.checked_add(Duration::from_nanos(nanos))
    }
}
