//! The times at which the parts of the exchange are due from which the sender of an adaptive connection
//! learns.

use std::time::{Duration, Instant};

/// When the two halves of the exchange are due.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Learning {
    /// The time at which the peer is told what has left.
    pub(super) depart_at: Option<Instant>,
    /// How often the peer was told beforehand that it will be.
    pub(super) announced: u8,
    /// Reports that the peer wants.
    pub(super) reports: Option<Reports>,
    /// What the peer is asked for.
    pub(super) asking: Option<Asking>,
    /// When the peer was last told what will not come.
    pub(super) refused: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Reports {
    pub(super) at: Instant,
    pub(super) interval: Duration,
    pub(super) until: Instant,
}

impl Learning {
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let reports = self.reports.map(|reports| reports.at);
        let asking = self.asking.and_then(|asking| asking.next_timeout());
        [self.depart_at, reports, asking].into_iter().flatten().min()
    }
}

/// When the peer is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) until: Instant,
    /// The time at which it is asked next; `None` while nothing is missing.
    pub(super) at: Option<Instant>,
    pub(super) last: Instant,
    /// Bytes that may be spent, and the bytes that had come when they were last added to.
    pub(super) tokens: u64,
    pub(super) came: u64,
}

impl Asking {
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.at
    }
}
