//! The silence of one direction of a path: when the direction last gave a sign of life, and since
//! when the absence of one counts.

use std::time::{Duration, Instant};

/// The last sign of life of one direction, and the last time at which it was exempted from giving
/// one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    last: Instant,
    exempted: Instant,
}

impl Watch {
    pub(super) fn new(now: Instant) -> Self {
        Self { last: now, exempted: now }
    }

    /// Takes a sign of life.
    pub(super) fn sign(&mut self, now: Instant) {
        self.last = self.last.max(now);
    }

    /// Returns when the last sign of life was given, or the watch began.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// Lets the absence of signs count from now on, because nothing was asked before (the
    /// connection was idle) or nothing was read (the process stood still). While a question is
    /// open, that is granted at most once between two signs of life; otherwise traffic that comes
    /// and goes would keep a dead path up.
    pub(super) fn exempt(&mut self, now: Instant, question_open: bool) -> bool {
        let granted = !question_open || self.exempted <= self.last;
        if granted {
            self.exempted = now;
        }
        granted
    }

    /// Returns when signs of life begin to be overdue that come every `interval`, or within
    /// `answer` after an exemption: half an interval late.
    pub(super) fn overdue(&self, interval: Duration, answer: Duration) -> Instant {
        (self.last + interval).max(self.exempted + answer) + interval / 2
    }

    /// Returns when the direction counts as lost: `dead_after` the last sign, and not before
    /// `allowance` has passed since the last exemption.
    pub(super) fn deadline(&self, dead_after: Duration, allowance: Duration) -> Instant {
        (self.last + dead_after).max(self.exempted + allowance)
    }
}
