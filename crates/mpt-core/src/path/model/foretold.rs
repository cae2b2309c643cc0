//! The effect of a capacity that trains of probes have foretold on the model of a path.

use super::capacity::Capacity;
use super::phase::{Known, Phase};
use super::state::Model;

/// The share of the capacity from which on data keeps the trains apart.
const BUSY: f64 = 0.3;
/// The factor by which a path delivers more than was foretold if the trains were wrong.
const WRONG: f64 = 1.1;
/// The share of the foretold capacity from which on a path delivers all that it is given.
const FULL: f64 = 0.9;

impl Model {
    /// Takes the capacity that trains of probes have shown, unless they shared the path with data, or
    /// the path has shown a bottleneck since.
    pub(crate) fn foretell(&mut self, capacity: Capacity) {
        if matches!(self.phase, Phase::Startup { .. }) && self.rates.best() <= BUSY * capacity.usual
        {
            self.phase = Phase::Startup { foretold: Some(capacity) };
            self.rate = self.bounded(capacity.allow(self.rate));
        }
    }

    /// Keeps the rate of a path in startup to what was foretold. The capacity is known once that is
    /// delivered.
    pub(super) fn keep_to_foretold(&mut self, now: i64) {
        let Phase::Startup { foretold: Some(capacity) } = self.phase else { return };
        let best = self.rates.best();
        if best > WRONG * capacity.bound {
            self.phase = Phase::Startup { foretold: None };
            return;
        }
        self.rate = capacity.allow(self.rate);
        if best > FULL * capacity.allow(f64::INFINITY) {
            self.phase = Phase::Known(Known::from(self.rate, now + self.step()));
        }
    }
}
