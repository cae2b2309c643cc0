//! The times at which the parts of the exchange are due from which the sender of an adaptive connection
//! learns.

use std::time::{Duration, Instant};

/// When the two halves of the exchange are due.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::session::engine) struct Learning {
    /// The time at which the peer is told what has left.
    pub(in crate::session::engine) depart_at: Option<Instant>,
    /// How often the peer was told beforehand that it will be.
    pub(in crate::session::engine) announced: u8,
    /// Reports that the peer wants.
    pub(in crate::session::engine) reports: Option<Reports>,
    /// What the peer is asked for.
    pub(in crate::session::engine) asking: Option<Asking>,
    /// When the peer was last told what will not come.
    pub(in crate::session::engine) refused: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::session::engine) struct Reports {
    pub(in crate::session::engine) at: Instant,
    pub(in crate::session::engine) interval: Duration,
    pub(in crate::session::engine) until: Instant,
}

impl Learning {
    pub(in crate::session::engine) fn next_timeout(&self) -> Option<Instant> {
        let reports = self.reports.map(|reports| reports.at);
        let asking = self.asking.and_then(|asking| asking.next_timeout());
        [self.depart_at, reports, asking].into_iter().flatten().min()
    }
}

/// When the peer is asked.
#[derive(Clone, Copy, Debug)]
pub(in crate::session::engine) struct Asking {
    pub(in crate::session::engine) until: Instant,
    /// The time at which it is asked next; `None` while nothing is missing.
    pub(in crate::session::engine) at: Option<Instant>,
    pub(in crate::session::engine) last: Instant,
    /// Bytes that may be spent, and the bytes that had come when they were last added to.
    pub(in crate::session::engine) tokens: u64,
    pub(in crate::session::engine) came: u64,
}

impl Asking {
    pub(in crate::session::engine) fn next_timeout(&self) -> Option<Instant> {
        self.at
    }
}
