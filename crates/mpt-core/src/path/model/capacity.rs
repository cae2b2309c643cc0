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
    /// The rate above which hardly any path carries more after such trains. It is `most` or more, and
    /// infinite where any rate may be.
    pub(crate) bound: f64,
}

impl Capacity {
    /// Returns true if the capacity is known well.
    pub(super) fn is_precise(&self) -> bool {
        self.usual > 0.0 && self.most.is_finite() && self.most <= PRECISE * self.usual
    }

    /// Returns the least that agrees with the trains. A probe takes as much longer than usual there as
    /// it takes less at the most. It is 0 where any rate agrees.
    fn least(&self) -> f64 {
        if self.most.is_finite() { 1.0 / (2.0 / self.usual - 1.0 / self.most) } else { 0.0 }
    }

    /// Returns the rate that a path is given: the one that follows from the capacity if that is known
    /// well, or else the `wanted` one between the least that agrees with the trains and the bound.
    pub(super) fn allow(&self, wanted: f64) -> f64 {
        if self.is_precise() {
            SHARE * self.usual
        } else {
            wanted.max(SHARE * self.least()).min(self.bound)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A probe takes 85 microseconds, and 49 to 121 agree with the trains.
    #[test]
    fn a_rate_is_kept_between_the_least_and_the_most_that_agree_with_the_trains() {
        let most = 1_450.0 / 49.0;
        let capacity = Capacity { usual: 1_450.0 / 85.0, most, bound: most };
        assert!(!capacity.is_precise());
        let least = SHARE * 1_450.0 / 121.0;
        assert!((capacity.allow(0.0) - least).abs() < 1e-9, "{}", capacity.allow(0.0));
        assert_eq!(capacity.allow(15.0), 15.0);
        assert_eq!(capacity.allow(f64::INFINITY), capacity.most);
    }

    #[test]
    fn trains_that_agree_with_any_rate_keep_to_none() {
        for usual in [-3.0, 0.0, 20.0, f64::INFINITY, f64::NAN] {
            let capacity = Capacity { usual, most: f64::INFINITY, bound: f64::INFINITY };
            assert_eq!([0.0, 1.0, 1e9].map(|wanted| capacity.allow(wanted)), [0.0, 1.0, 1e9]);
        }
    }
}
