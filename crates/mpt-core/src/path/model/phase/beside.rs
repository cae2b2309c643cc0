//! The rate beside other traffic that keeps the queue of the path full, and the drain that shows
//! whether it does.

use super::drain::{Drain, Finding};
use super::hold::BOUND;
use super::{Known, Phase};
use crate::path::model::report::{Pause, Present, Report};
use crate::path::model::state::{LEAST_RATE, LEAST_STEP, Model};

/// The interval at which the path is drained beside other traffic, to see whether that is still
/// there, in microseconds.
const LOOK: i64 = 10_000_000;
/// The growth of the rate beside other traffic, in bytes per round-trip time in each round-trip
/// time: six packets. With three the other traffic kept more than its share of the path
/// (`docs/adaptive-evidence.md`, "A rival on one of two links").
const GROWTH: f64 = 6.0 * 1_500.0;
/// Time without a queue after which the other traffic is taken to have ended, in microseconds.
const GONE: i64 = 1_000_000;

impl Model {
    /// Handles a report while other traffic keeps the queue full. As in TCP, the rate is cut when
    /// packets are lost, and otherwise grows by [`GROWTH`].
    pub(in crate::path::model) fn share(
        &mut self,
        (since, found): (Option<i64>, i64),
        lost: bool,
        (fresh, queue): (bool, f64),
        report: &Report,
        present: &Present,
    ) -> Option<Pause> {
        let now = present.now;
        let rtt = self.rtt() + queue;
        if lost && now >= self.cut_until {
            self.cuts += 1;
            self.rate = (0.7 * self.rate).max(LEAST_RATE);
            self.cut_until = now + rtt as i64;
            self.overflow.judge_from(present.sent_packets);
        } else if present.backlogged {
            let passed = (now - self.grown_at).clamp(0, LEAST_STEP as i64) as f64;
            let wanted = self.rate + GROWTH * passed / (rtt * rtt);
            self.rate = wanted.min(BOUND * self.rates.best()).max(self.rate);
        }
        self.grown_at = now;
        let stands = fresh && queue >= self.threshold_at(0.5);
        let since = if stands { None } else { Some(since.unwrap_or(now)) };
        if since.is_some_and(|since| now - since > GONE) {
            self.phase = Phase::Known(Known::from(self.rate, now));
            return None;
        }
        if stands && now - found > LOOK && !self.is_at_floor() {
            return Some(self.begin_drain(self.rate, report, present));
        }
        self.phase = Phase::Shared { since, found };
        None
    }

    /// Handles a report while the path drains.
    pub(in crate::path::model) fn drain(
        &mut self,
        mut drain: Drain,
        (fresh, queue): (bool, f64),
        report: &Report,
        present: &Present,
    ) -> Option<Pause> {
        let now = present.now;
        let some = self.threshold_at(0.5);
        let found = drain.handle_report(now, report, fresh.then_some(queue), some);
        self.phase = Phase::Draining(drain);
        match found {
            Finding::Drains => None,
            Finding::Drained { capacity } => {
                self.judge_from(now, present.sent_packets);
                self.rate = (0.9 * capacity).max(LEAST_RATE);
                Some(Pause::Ends)
            }
            Finding::Ours { capacity } => {
                self.rate = (0.99 * capacity).max(LEAST_RATE);
                self.cut_at = None;
                self.phase = Phase::Known(Known::from(self.rate, now + self.step()));
                None
            }
            Finding::Theirs { rate } => {
                self.rate = rate.max(LEAST_RATE);
                (self.cut_until, self.grown_at) = (now, now);
                self.phase = Phase::Shared { since: None, found: now };
                None
            }
        }
    }
}
