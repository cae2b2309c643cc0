//! The configured bounds of the rate of a path, in the unit of the model.

use crate::path::RateBounds;

/// The number of bytes per microsecond in one bit/s.
const UNIT: f64 = 1.0 / 8e6;

/// The least and the greatest rate, in bytes per microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bounds {
    pub(super) least: Option<f64>,
    pub(super) greatest: Option<f64>,
}

impl Bounds {
    pub(super) fn new(bounds: RateBounds) -> Self {
        let rate = |bits: u64| bits as f64 * UNIT;
        Self { least: bounds.least().map(rate), greatest: bounds.greatest().map(rate) }
    }

    /// Returns the rate, or the nearest bound where it is out of bounds.
    pub(super) fn clamp(self, rate: f64) -> f64 {
        let rate = self.greatest.map_or(rate, |greatest| rate.min(greatest));
        self.least.map_or(rate, |least| rate.max(least))
    }
}
