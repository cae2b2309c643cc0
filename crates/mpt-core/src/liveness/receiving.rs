//! The receiving direction of a path: whether authenticated frames arrive.

use std::time::{Duration, Instant};

use super::watch::Watch;

/// The receiving direction of a path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Receiving {
    /// Frames arrive.
    Heard(Watch),
    /// No packet has arrived for as long as the peer may be silent on a path that works, or none
    /// has ever.
    Silent(Watch),
}

impl Receiving {
    /// A path on which nothing has arrived yet.
    pub(super) fn new(now: Instant) -> Self {
        Self::Silent(Watch::new(now))
    }

    pub(super) fn is_silent(self) -> bool {
        matches!(self, Self::Silent(_))
    }

    /// Begins to watch anew. A direction that was silent remains so.
    pub(super) fn restart(&mut self, now: Instant) {
        *self.watch_mut() = Watch::new(now);
    }

    /// A frame has arrived. Returns true if the direction was silent before.
    pub(super) fn hear(&mut self, now: Instant) -> bool {
        self.watch_mut().sign(now);
        self.trust()
    }

    /// The direction counts as one that works. Returns true if it was silent before.
    pub(super) fn trust(&mut self) -> bool {
        let Self::Silent(watch) = *self else { return false };
        *self = Self::Heard(watch);
        true
    }

    /// The direction has been silent for too long.
    pub(super) fn fall_silent(&mut self) {
        *self = Self::Silent(*self.watch_mut());
    }

    /// Silence counts from now on.
    pub(super) fn exempt(&mut self, now: Instant, question_open: bool) {
        self.watch_mut().exempt(now, question_open);
    }

    /// The time at which the direction counts as silent without another frame; `None` if it is.
    pub(super) fn deadline(&self, dead_after: Duration, allowance: Duration) -> Option<Instant> {
        match self {
            Self::Heard(watch) => Some(watch.deadline(dead_after, allowance)),
            Self::Silent(_) => None,
        }
    }

    fn watch_mut(&mut self) -> &mut Watch {
        match self {
            Self::Heard(watch) | Self::Silent(watch) => watch,
        }
    }
}
