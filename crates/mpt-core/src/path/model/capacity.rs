//! The capacity of a path that trains of probes have shown before there is data.

use super::phase::Phase;
use super::state::Model;

/// The capacity of a path as its trains of probes have shown it, in bytes per microsecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Capacity {
    pub(crate) usual: f64,
    /// The most that agrees with the trains, or `None` where any rate does.
    pub(crate) most: Option<f64>,
}

/// The factor within which a precise capacity is known.
const PRECISE: f64 = 1.25;

impl Capacity {
    /// Returns true if the capacity is known well.
    pub(crate) fn is_precise(&self) -> bool {
        self.usual > 0.0 && self.most.is_some_and(|most| most <= PRECISE * self.usual)
    }
}

/// The share of the capacity from which on data keeps the trains apart.
const BUSY: f64 = 0.1;
/// The share of the foretold capacity that a path is given.
const SHARE: f64 = 0.95;

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
}
