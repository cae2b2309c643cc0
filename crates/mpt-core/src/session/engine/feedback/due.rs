//! The times at which the parts of the exchange are due from which the sender of an adaptive connection
//! learns.

use std::time::{Duration, Instant};

/// The times at which the two halves of the exchange are due.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Learning {
    /// The time at which the peer is told what has left.
    pub(crate) depart_at: Option<Instant>,
    /// The number of announcements that were sent to the peer beforehand.
    pub(crate) announced: u8,
    /// Reports that the peer wants.
    pub(crate) reports: Option<Reports>,
    /// The request for missing numbers.
    pub(crate) asking: Option<Asking>,
    /// The time at which refusals were last sent to the peer.
    pub(crate) refused: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reports {
    pub(crate) at: Instant,
    pub(crate) interval: Duration,
    pub(crate) until: Instant,
}

impl Learning {
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let reports = self.reports.map(|reports| reports.at);
        let asking = self.asking.and_then(|asking| asking.next_timeout());
        [self.depart_at, reports, asking].into_iter().flatten().min()
    }
}

/// The times at which the peer is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    pub(crate) until: Instant,
    /// The time at which it is asked next; `None` while nothing is missing.
    pub(crate) at: Option<Instant>,
    pub(crate) last: Instant,
    /// Bytes that may be spent, and the bytes that had come when they were last added to.
    pub(crate) tokens: u64,
    /// Time between two messages while something is missing.
    pub(crate) every: Duration,
    pub(crate) came: u64,
}

impl Asking {
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.at
    }
}
