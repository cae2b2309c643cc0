//! The bounds that an owner sets to what is learnt of a path.

use thiserror::Error;

/// The least and the greatest rate at which a path is given packets by
/// [`Mapping::Adaptive`](crate::Mapping::Adaptive), whatever is measured. Rates are bit/s of outer IP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RateBounds {
    least: Option<u64>,
    greatest: Option<u64>,
}

/// The reason for which two rates cannot bound a path.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BadBounds {
    /// A bound is no rate at all.
    #[error("a bound of the rate is above 0 bit/s")]
    Zero,
    /// The least rate is above the greatest one.
    #[error("the least rate is above the greatest one")]
    Crossed,
}

impl RateBounds {
    /// No bound.
    pub const NONE: Self = Self { least: None, greatest: None };

    /// Makes bounds; `None` is no bound.
    ///
    /// # Errors
    ///
    /// A bound is 0, or `least` is above `greatest`.
    pub fn new(least: Option<u64>, greatest: Option<u64>) -> Result<Self, BadBounds> {
        if least == Some(0) || greatest == Some(0) {
            return Err(BadBounds::Zero);
        }
        if least.zip(greatest).is_some_and(|(least, greatest)| least > greatest) {
            return Err(BadBounds::Crossed);
        }
        Ok(Self { least, greatest })
    }

    /// The least rate in bit/s, if there is one.
    pub fn least(self) -> Option<u64> {
        self.least
    }

    /// The greatest rate in bit/s, if there is one.
    pub fn greatest(self) -> Option<u64> {
        self.greatest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_cannot_be_kept_are_refused() {
        assert_eq!(RateBounds::new(None, None), Ok(RateBounds::NONE));
        assert_eq!(RateBounds::new(Some(5), Some(4)), Err(BadBounds::Crossed));
        assert_eq!(RateBounds::new(Some(0), None), Err(BadBounds::Zero));
        assert_eq!(RateBounds::new(None, Some(0)), Err(BadBounds::Zero));
        let equal = RateBounds::new(Some(5), Some(5)).expect("equal bounds leave one rate");
        assert_eq!((equal.least(), equal.greatest()), (Some(5), Some(5)));
    }
}
