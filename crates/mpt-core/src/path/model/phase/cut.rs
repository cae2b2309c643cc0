//! The cut of the rate when a queue stands: the path is given less than it delivers, or nothing
//! until it has drained.

use super::drain::Drain;
use super::{Known, Phase};
use crate::path::model::report::{Pause, Present, Report};
use crate::path::model::state::{LEAST_RATE, LEAST_STEP, Model};

/// Time within which a second cut shows that the first one was in vain, in microseconds, unless the
/// queue has been empty in between.
const SOON: i64 = 2_000_000;
/// The share of its rate below which a path is given too little to show its capacity.
const LITTLE: f64 = 0.25;
/// The share of its best rate with which a path begins beside other traffic.
const FAIR: f64 = 0.5;

/// The sign that a path is given too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::path::model) enum Cause {
    /// Packets come later than usual, which may be the delay itself where that wanders.
    Queue,
    /// Packets are lost, as where a queue overflows.
    Overflow,
    /// Packets are marked "congestion experienced".
    Marks,
}

impl Model {
    /// Cuts the rate to less than the path delivers, once the queue that stands has drained.
    pub(in crate::path::model) fn cut(
        &mut self,
        report: &Report,
        present: &Present,
        cause: Cause,
    ) -> Option<Pause> {
        let now = present.now;
        self.cuts += 1;
        self.over_since = None;
        let keeps = self.is_at_floor();
        if self.cut_at.is_some_and(|at| now - at < SOON) && !keeps {
            return Some(self.begin_drain(FAIR * self.rates.best(), report, present));
        }
        self.cut_at = Some(now);
        // In slow start a burst fills the queue after a pause, and the pause says nothing about the
        // capacity. Later a flow does not pause, and the longer time is the safer measure where
        // delays jitter.
        let delivered = match self.phase {
            Phase::Startup { .. } => self.rates.in_burst(),
            _ if cause == Cause::Queue => self.rates.despite_wander(),
            _ => self.rates.delivered(),
        };
        // The delivered rate may be low for other reasons, so one cut takes at most 30 %.
        let says_little = self.rates.given() < LITTLE * self.rate;
        let best = if says_little { self.rate } else { self.rates.best() };
        let least = 0.7 * best.min(self.rate);
        self.rate = (0.99 * delivered).max(least).max(LEAST_RATE);
        if cause == Cause::Marks {
            self.marks.set_limit(now, self.rates.best());
            self.rate = self.rate.min(self.marks.limit(now));
        }
        self.rate = self.bounded(self.rate);
        let under_way = present.sent_bytes.saturating_sub(report.sent_bytes) as f64;
        let since = (now - report.sent_at) as f64 - self.queue();
        let excess = under_way - self.rate * since.max(0.0);
        let longest = if keeps { 0.0 } else { 2.0 * self.rtt().max(100_000.0) };
        let drain = (excess / self.rate).clamp(0.0, longest);
        let until = now + drain as i64;
        self.judge_from(until, present.sent_packets);
        self.phase = Phase::Known(Known::from(self.rate, until + self.step()));
        Some(Pause::Until(until))
    }

    /// Lets the path drain: nothing is sent until everything sent has arrived. `shared` is the rate
    /// beside other traffic, for the case that the queue is not ours.
    pub(in crate::path::model) fn begin_drain(
        &mut self,
        shared: f64,
        report: &Report,
        present: &Present,
    ) -> Pause {
        let longest = self.rtt() + 2.0 * self.queue() + LEAST_STEP;
        let until = present.now + longest as i64;
        let drain = Drain::new(until, present.sent_bytes, (report.at, report.bytes), shared);
        self.phase = Phase::Draining(drain);
        self.over_since = None;
        // Packets that leave after the pause and before the next report meet the queue as it is.
        self.rate = self.rate.min(0.9 * self.rates.delivered()).max(LEAST_RATE);
        Pause::Until(until)
    }
}
