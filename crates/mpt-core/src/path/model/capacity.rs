//! The capacity of a path that trains of probes have shown before there is data.

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
