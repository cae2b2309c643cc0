//! The effect of a capacity that trains of probes have foretold on the model of a path.

use super::capacity::Capacity;
use super::phase::{Known, Phase};
use super::state::Model;

/// The share of the capacity from which on data keeps the trains apart.
const BUSY: f64 = 0.1;
/// The share of the foretold capacity that a path is given.
const SHARE: f64 = 0.95;
/// A path that delivers this much more than was foretold is another one.
const WRONG: f64 = 1.1;
/// The share of the foretold capacity from which on a path delivers all that it is given.
const FULL: f64 = 0.9;

impl Model {
    /// Takes the capacity that trains of probes have shown, unless they shared the path with data.
    pub(crate) fn foretell(&mut self, capacity: Capacity) {
        if self.rates.best() > BUSY * capacity.usual {
            return;
        }
        self.foretold = Some(capacity);
        if matches!(self.phase, Phase::Startup) {
            let most = capacity.most.unwrap_or(f64::INFINITY);
            self.rate = self.bounded(self.foretold_rate().unwrap_or(self.rate.min(most)));
        }
    }

    /// Returns the rate that a path is given by its foretold capacity, if that is known well.
    pub(super) fn foretold_rate(&self) -> Option<f64> {
        let foretold = self.foretold.filter(Capacity::is_precise)?;
        Some(SHARE * foretold.usual)
    }

    /// Keeps the rate of a path in startup to what was foretold. The capacity is known once that is
    /// delivered.
    pub(super) fn keep_to_foretold(&mut self, now: i64) {
        let (Some(foretold), best) = (self.foretold, self.rates.best()) else { return };
        let most = foretold.most.unwrap_or(f64::INFINITY);
        if best > WRONG * most {
            self.foretold = None;
            return;
        }
        self.rate = self.foretold_rate().unwrap_or(self.rate.min(most));
        if best > FULL * self.foretold_rate().unwrap_or(most) {
            self.phase = Phase::Known(Known::from(self.rate, now + self.step()));
        }
    }
}
