//! Ranges of numbers that are missing, or will not come.

use smallvec::SmallVec;

/// The most ranges in a Missing or a Refused.
pub(crate) const MOST_RANGES: usize = 32;

/// The first number and the count of each range.
pub(crate) type Ranges = SmallVec<[(u32, u16); MOST_RANGES]>;
