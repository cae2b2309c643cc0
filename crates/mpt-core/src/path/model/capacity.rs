//! The capacity of a path that trains of probes have shown before there is data.

/// The factor within which a capacity is known well.
const PRECISE: f64 = 1.25;
/// The share of a capacity that a path is given.
const SHARE: f64 = 0.95;

/// The capacity of a path as its trains of probes have shown it, in bytes per microsecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Capacity {
    pub(crate) usual: f64,
    /// The most that agrees with the trains. It is infinite where any rate does.
    pub(crate) most: f64,
}

impl Capacity {
    /// Returns true if the capacity is known well.
    pub(super) fn is_precise(&self) -> bool {
        self.usual > 0.0 && self.most <= PRECISE * self.usual
    }

    /// Returns the rate that a path is given: the one that follows from the capacity if that is known
    /// well, or else the `wanted` one within the capacity.
    pub(super) fn allow(&self, wanted: f64) -> f64 {
        if self.is_precise() { SHARE * self.usual } else { wanted.min(self.most) }
    }
}
