//! What the bounds of its owner do to the model of a path.

use super::bounds::Bounds;
use super::state::Model;
use crate::path::RateBounds;

impl Model {
    /// Sets the bounds of the rate; they hold at once.
    pub(crate) fn set_bounds(&mut self, bounds: RateBounds) {
        self.bounds = Bounds::new(bounds);
        self.rate = self.bounded(self.rate);
    }

    /// Gives the path no more than its least rate for now. Returns false if its owner has not set one.
    pub(crate) fn keep_to_floor(&mut self) -> bool {
        self.rate = self.bounds.least.unwrap_or(self.rate);
        self.bounds.least.is_some()
    }

    /// True if the owner has set a greatest rate.
    #[inline]
    pub(crate) fn has_ceiling(&self) -> bool {
        self.bounds.greatest.is_some()
    }

    /// True if the path has no more than its least rate: nothing of that is given up.
    pub(super) fn is_at_floor(&self) -> bool {
        self.bounds.least.is_some_and(|least| self.rate <= least)
    }
}
