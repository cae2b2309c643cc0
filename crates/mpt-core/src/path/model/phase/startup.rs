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

impl Model {
    /// Raises the rate above the delivered rate, unless the queue `fills`.
    pub(in crate::path::model) fn start_up(&mut self, fills: bool) {
        let growth = (1.0 + QUEUE / self.rtt()).clamp(LEAST_GROWTH, MOST_GROWTH);
        // Jitter hides a queue for longer than the queue takes to overflow.
        let growth = if self.sigma() > 0.0 { LEAST_GROWTH } else { growth };
        let factor = if fills { 1.0 } else { growth };
        let floor = first_rate(self.rtt());
        let peak = if factor > 1.0 { PEAK * self.rates.peak() } else { 0.0 };
        let wanted = (factor * self.rates.best()).max(peak).max(floor);
        self.rate = if factor > 1.0 { wanted } else { wanted.min(self.rate) };
    }
}
