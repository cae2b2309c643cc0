//! The changes that the owner of a path has not been told yet.

use std::time::Instant;

use super::state::Change;

/// The state that was last reported to the owner, and the time at which it changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notices {
    reported: Option<Change>,
    changed: Instant,
}

impl Notices {
    /// The notices before any report.
    pub(super) fn new(now: Instant) -> Self {
        Self { reported: None, changed: now }
    }

    /// Something has become different from what it was.
    pub(super) fn change(&mut self, now: Instant) {
        self.changed = now;
    }

    /// Takes the state of the path to report it, if it differs from what was reported last.
    pub(super) fn report(&mut self, change: Change) -> Option<Change> {
        (self.reported.replace(change) != Some(change)).then_some(change)
    }

    /// Returns the time since which the state of the path waits to be reported.
    pub(super) fn due(&self, change: Change) -> Option<Instant> {
        (self.reported != Some(change)).then_some(self.changed)
    }
}
