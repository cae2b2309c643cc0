//! The rate of a path with a known capacity: a little below that, and a little more from time to
//! time.
//!
//! Several tunnels may share a bottleneck, and each takes a standing queue for its own. They
//! converge to equal rates, since each grows by the same number of bytes whatever its rate, and
//! since all measure the same queue: the tunnel with more than [`OWN_QUEUE`] in it yields, and the
//! others do not.

use super::cut::Cause;
use super::{Known, Phase};
use crate::path::model::report::{Pause, Present, Report};
use crate::path::model::state::{LEAST_RATE, Model, OWN_QUEUE};

/// The share of the rate that is given up in each growth step while more than [`OWN_QUEUE`] waits.
const YIELD: f64 = 0.03;
/// The rate grows by so many bytes per round-trip time in each,
const GROWTH: f64 = 2.0 * 1_500.0;
/// of paths that have this one at least, in microseconds,
const GROWTH_RTT: f64 = 40_000.0;
/// and by these shares of itself at least and at most; at least by the second one where delays jitter, since a step
/// takes long there to show anything.
const LEAST_GROWTH: f64 = 0.03;
const LEAST_GROWTH_IN_JITTER: f64 = 0.1;
const MOST_GROWTH: f64 = 0.2;
/// Growth steps without a queue after which the rate grows by [`LEAP`], except where delays jitter
/// or wander, since the queue of such a leap would overflow before it is noticed.
const CALM: u8 = 3;
const LEAP: f64 = 2.0;
/// The most by which the rate may exceed the best delivered rate after a step.
pub(super) const BOUND: f64 = 1.2;
/// The most by which the rate may exceed the best delivered rate after a leap. It is less on a path
/// so long that more than [`LEAP_QUEUE`] would wait before a report shows the queue.
const LEAP_BOUND: f64 = 1.5;
/// The time that the excess of a leap may wait before a report shows it, in microseconds.
const LEAP_QUEUE: f64 = 50_000.0;

impl Model {
    /// Handles a report. `fresh` is true if it shows the queue anew, and `over_now` if a queue
    /// stands.
    pub(in crate::path::model) fn hold(
        &mut self,
        Known { found, was_over, mut calm, mut grow_at }: Known,
        (fresh, over_now): (bool, bool),
        report: &Report,
        present: &Present,
    ) -> Option<Pause> {
        if over_now && was_over {
            return self.cut(report, present, Cause::Queue);
        }
        let (now, queue, threshold) = (present.now, self.queue(), self.threshold());
        let half = self.threshold_at(0.5);
        let fair = OWN_QUEUE / queue;
        if fresh && queue > self.threshold_at(0.25) && self.rate > fair && !self.is_only_wandering()
        {
            // The path is full, whether the flow asks for more or not. The rest is for other paths.
            self.rate = self.rate.min(self.rates.best()).max(LEAST_RATE);
            if queue > half {
                let passed = (now - self.grown_at).clamp(0, self.step()) as f64;
                let least = self.rate * (1.0 - YIELD * passed / self.step() as f64);
                self.rate = fair.clamp(least, self.rate);
            }
        }
        self.grown_at = now;
        let (stands, has_less) = (queue >= half, self.rate < fair);
        if stands {
            calm = 0;
        }
        if stands && !(has_less && queue < threshold) {
            grow_at = grow_at.max(now + self.step() / 2);
        } else if now >= grow_at && present.backlogged {
            self.grow(now, calm);
            calm = calm.saturating_add(u8::from(!stands));
            grow_at = now + self.step();
        }
        let was_over = if fresh { over_now } else { was_over };
        self.phase = Phase::Known(Known { found, was_over, calm, grow_at });
        None
    }

    fn grow(&mut self, now: i64, calm: u8) {
        let (best, jitters) = (self.rates.best(), self.sigma() > 0.0);
        let (wanted, bound) = if calm >= CALM && !jitters && !self.wanders() {
            let bound = self.unseen(LEAP_QUEUE).clamp(BOUND, LEAP_BOUND);
            (LEAP * self.rate, bound * best)
        } else {
            let rtt = self.rtt().max(GROWTH_RTT);
            let growth = GROWTH * self.step() as f64 / (rtt * rtt);
            let least = if jitters { LEAST_GROWTH_IN_JITTER } else { LEAST_GROWTH };
            let growth = growth.clamp(least * self.rate, MOST_GROWTH * self.rate);
            (self.rate + growth, BOUND * best)
        };
        self.rate = wanted.min(bound).min(self.marks.limit(now)).max(self.rate);
    }
}
