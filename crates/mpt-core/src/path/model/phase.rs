//! The phases of a path: it starts up, its rate is known, it drains, or others keep its queue full.

use super::drain::Drain;

/// The phase of a path, with the state that only it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    /// No bottleneck has shown itself: the rate grows with what is delivered.
    Startup,
    /// The rate is what the path is held to carry.
    Known(Known),
    /// The queue did not go when the rate was cut: nothing is sent until all that was sent has come, which shows
    /// whose queue it is.
    Draining(Drain),
    /// Somebody else keeps the queue full: it says nothing, only loss does. The rate is cut and grows as
    /// that of a flow of TCP.
    Shared {
        /// Since when no queue stands; `None` while one does.
        since: Option<i64>,
        /// When it was found that the queue is not ours.
        found: i64,
    },
}

/// The state of a path whose rate is known, since the last cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    /// True if the latest report that shows the queue showed a standing one.
    pub(super) was_over: bool,
    /// Growth steps in a row without one.
    pub(super) calm: u8,
    /// When the next growth step is due.
    pub(super) grow_at: i64,
}

impl Known {
    /// The state after a cut. The rate may grow from `grow_at` on.
    pub(super) const fn from(grow_at: i64) -> Self {
        Self { was_over: false, calm: 0, grow_at }
    }
}
