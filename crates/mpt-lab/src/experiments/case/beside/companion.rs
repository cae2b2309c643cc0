//! A companion of the traffic, and the part of the time that counts.

use std::time::Duration;

use anyhow::Result;

use crate::console::interrupt::Interrupt;
use crate::experiments::case::CaseSpec;
use crate::experiments::case::observation::cpu::Watched;
use crate::experiments::case::traffic::{Ends, Outcome};
use crate::traffic::Moment;

/// A companion of the traffic; it ends when this is dropped.
pub(crate) trait Companion {
    /// The traffic begins now.
    fn begin(&mut self, _ends: Ends<'_>) -> Result<()> {
        Ok(())
    }

    /// Its processes.
    fn processes(&self) -> Vec<Watched> {
        Vec::new()
    }

    /// Ends it and adds what it has observed.
    fn finish(
        self: Box<Self>,
        window: &Window,
        outcome: &mut Outcome,
        interrupt: &Interrupt,
    ) -> Result<()>;
}

/// The part of the time that counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// The time at which the traffic began.
    pub(crate) began: Moment,
    /// Expected duration of the traffic.
    pub(crate) duration: Duration,
    /// The part of it that counts, in seconds since its beginning.
    pub(crate) counts: (f64, f64),
}

/// Time before the traffic, in seconds: what begins so shortly before it is not alone any more when
/// it ends.
pub(super) const APPROACH: f64 = 0.3;

impl Window {
    pub(crate) fn new(spec: &CaseSpec, began: Moment, duration: Duration) -> Self {
        let (from, to) = spec.observation.counts;
        Self { began, duration, counts: (from.as_secs_f64(), to.as_secs_f64()) }
    }

    /// Returns the seconds since the traffic began.
    pub(crate) fn seconds(&self, at: Moment) -> f64 {
        at.millis_since(self.began) / 1e3
    }

    /// True if something at that many seconds was beside the part of the traffic that counts.
    pub(crate) fn counts(&self, seconds: f64) -> bool {
        (self.counts.0..self.counts.1).contains(&seconds)
    }

    /// True if something that ended at that many seconds was alone.
    pub(crate) fn is_before(&self, seconds: f64) -> bool {
        seconds < -APPROACH
    }
}
