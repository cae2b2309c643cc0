//! Units as types.

use std::error::Error;
use std::fmt;
use std::num::NonZeroU64;

/// Bits per second, at least 1. There is no rate of 0: for a link that stands still for a while, schedule 1 bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bitrate(NonZeroU64);

impl Bitrate {
    /// Takes bits per second; `None` for 0.
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        match NonZeroU64::new(bits_per_second) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }

    /// Takes 10^6 bits per second; `None` for 0 and above `u64::MAX` bits per second.
    pub const fn from_megabits(megabits_per_second: u64) -> Option<Self> {
        match megabits_per_second.checked_mul(1_000_000) {
            Some(rate) => Self::new(rate),
            None => None,
        }
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }
}

/// A number of bytes: as the size of a packet, what it occupies on the wire, framing included if it is to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ByteCount(pub u64);

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "f64", into = "f64"))]
pub struct Probability(f64);

/// The number is not from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoProbability(pub f64);

impl fmt::Display for NoProbability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no probability: not from 0 to 1", self.0)
    }
}

impl Error for NoProbability {}

impl TryFrom<f64> for Probability {
    type Error = NoProbability;

    fn try_from(value: f64) -> Result<Self, NoProbability> {
        Self::new(value).ok_or(NoProbability(value))
    }
}

impl From<Probability> for f64 {
    fn from(probability: Probability) -> Self {
        probability.value()
    }
}

impl Probability {
    /// The probability of an event that never happens.
    pub const ZERO: Self = Self(0.0);
    /// The probability of an event that always happens.
    pub const ONE: Self = Self(1.0);

    /// Makes a probability; `None` for a value that is not from 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// From 0 to 1.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// True if an event of this probability happens, given a number drawn uniformly from [0, 1).
    pub(crate) fn happens(self, drawn: f64) -> bool {
        drawn < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_refused() {
        assert_eq!(Bitrate::new(0), None);
        assert_eq!(Bitrate::from_megabits(u64::MAX), None);
        for value in [-0.001, 1.001, f64::NAN, f64::INFINITY] {
            assert_eq!(Probability::new(value), None, "{value}");
        }
    }

    #[test]
    fn certain_events_are_certain() {
        let largest = 1.0 - f64::EPSILON / 2.0;
        assert!(Probability::ONE.happens(largest));
        assert!(!Probability::ZERO.happens(0.0));
    }
}
