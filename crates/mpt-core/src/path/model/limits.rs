//! The effect of configured bounds on the model of a path.

use super::bounds::Bounds;
use super::state::Model;
use crate::path::RateBounds;

impl Model {
    /// Sets the bounds of the rate, which take effect at once.
    pub(crate) fn set_bounds(&mut self, bounds: RateBounds) {
        self.bounds = Bounds::new(bounds);
        self.rate = self.bounded(self.rate);
    }

    /// Gives the path only its `min_rate` for now. Returns false if none is configured.
    pub(crate) fn keep_to_floor(&mut self) -> bool {
        self.rate = self.bounds.least.unwrap_or(self.rate);
        self.bounds.least.is_some()
    }

    /// Returns true if a `max_rate` is configured.
    #[inline]
    pub(crate) fn has_ceiling(&self) -> bool {
        self.bounds.greatest.is_some()
    }

    /// Returns true if the path has no more than its `min_rate`, of which nothing is given up.
    pub(super) fn is_at_floor(&self) -> bool {
        self.bounds.least.is_some_and(|least| self.rate <= least)
    }
}
