//! The rate of a path that has not shown a bottleneck.

use super::state::{FIRST_INTERVAL, FIRST_WINDOW, Model};

/// What a path is given too much in startup, until a report says so, fits into a queue of this time, in
/// microseconds.
const QUEUE: f64 = 100_000.0;
/// By what a path is given more in startup than it has delivered, within [`QUEUE`].
const LEAST_GROWTH: f64 = 1.5;
/// The same at most.
const MOST_GROWTH: f64 = 3.0;
/// The same by what it has delivered in bursts: a flow in slow start sends bursts that are faster than its
/// rate, and what a burst waits for ends its slow start.
const PEAK: f64 = 1.2;

impl Model {
    /// Gives the path more than it has delivered, unless its queue `fills`.
    pub(super) fn start_up(&mut self, fills: bool) {
        let growth = (1.0 + QUEUE / self.rtt()).clamp(LEAST_GROWTH, MOST_GROWTH);
        // Jitter hides a queue for longer than it takes to overflow.
        let growth = if self.sigma() > 0.0 { LEAST_GROWTH } else { growth };
        let factor = if fills { 1.0 } else { growth };
        let floor = FIRST_WINDOW / self.rtt().min(FIRST_INTERVAL);
        let peak = if factor > 1.0 { PEAK * self.rates.peak() } else { 0.0 };
        let wanted = (factor * self.rates.best()).max(peak).max(floor);
        self.rate = if factor > 1.0 { wanted } else { wanted.min(self.rate) };
    }
}
