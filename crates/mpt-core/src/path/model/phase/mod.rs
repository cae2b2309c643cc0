//! The phases of a path: it starts up, its rate is known, it drains, or other traffic keeps its
//! queue full.

mod beside;
mod cut;
pub(super) mod drain;
mod hold;
mod startup;

pub(super) use self::cut::Cause;
use self::drain::Drain;
use super::capacity::Capacity;

/// The phase of a path, with the state that only it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    /// No bottleneck has shown itself, and the rate grows with the delivered rate.
    Startup {
        /// The capacity that trains of probes have shown, as long as nothing contradicts it.
        foretold: Option<Capacity>,
    },
    /// The rate is the estimated capacity.
    Known(Known),
    /// The queue stayed when the rate was cut. Nothing is sent until everything sent has arrived,
    /// which shows whether the queue is ours.
    Draining(Drain),
    /// Other traffic keeps the queue full, so the queue is no evidence and only loss counts. The
    /// rate is cut and grows like that of a TCP flow.
    Shared {
        /// The time since which no queue stands, or `None` while one does.
        since: Option<i64>,
        /// The time at which the queue was found not to be ours.
        found: i64,
    },
}

/// The state of a path whose rate is known, since the last cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    /// The rate after the last cut, in bytes per microsecond.
    pub(super) found: f64,
    /// True if the latest report that shows the queue showed a standing one.
    pub(super) was_over: bool,
    /// The number of growth steps in a row without a standing queue.
    pub(super) calm: u8,
    /// The time at which the next growth step is due.
    pub(super) grow_at: i64,
}

impl Known {
    /// The state after a cut to the rate `found`. The rate may grow from `grow_at` on.
    pub(super) const fn from(found: f64, grow_at: i64) -> Self {
        Self { found, was_over: false, calm: 0, grow_at }
    }
}
