//! The rate of a path that has not shown a bottleneck.

use crate::path::model::state::{Model, first_rate};

/// The queue that holds the excess of startup until a report shows it, in microseconds.
const QUEUE: f64 = 100_000.0;
/// The least factor by which the rate exceeds the delivered rate in startup.
const LEAST_GROWTH: f64 = 1.5;
/// The greatest factor by which the rate exceeds the delivered rate in startup.
const MOST_GROWTH: f64 = 3.0;
/// The factor by which the rate exceeds the rate delivered in bursts. A flow in slow start sends
/// bursts faster than its rate, and the wait of a burst would end its slow start.
const PEAK: f64 = 1.2;
/// The longest time over which the first packets are spread where delays jitter, in microseconds.
/// Bulk is held for long there, so its slow start sends short bursts with long pauses between
/// them, and what waits of a burst may end it.
const BURST: f64 = 20_000.0;
/// The part of the first rate by which the rate exceeds the delivered rate at least: a path whose
/// first packets left no queue carries a few more of them, too.
const FEW_MORE: f64 = 0.5;

impl Model {
    /// Raises the rate above the delivered rate, unless the queue `fills`.
    pub(in crate::path::model) fn start_up(&mut self, fills: bool) {
        let growth = self.unseen(QUEUE).clamp(LEAST_GROWTH, MOST_GROWTH);
        // Jitter hides a queue for longer than the queue takes to overflow.
        let jitters = self.sigma() > 0.0;
        let growth = if jitters { LEAST_GROWTH } else { growth };
        let first = first_rate(if jitters { self.rtt().min(BURST) } else { self.rtt() });
        let best = self.rates.best();
        self.rate = if fills {
            best.max(first).min(self.rate)
        } else {
            (growth * best).max(best + FEW_MORE * first).max(PEAK * self.rates.peak()).max(first)
        };
    }
}
