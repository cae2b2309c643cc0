//! Serial numbers: the 32-bit GRE sequence number (RFC 2890, section 2.2) with the arithmetic of RFC 1982.
//!
//! There is no order over all serial numbers, only between two that are less than 2^31 apart, so [`Sequence`] is deliberately not `Ord`: sorting or
//! taking a maximum over the raw numbers goes wrong once in 2^32 packets, which is twice a day at a modest 100,000 packets per second.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A sequence number, wrapping at 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequence(pub u32);

impl Sequence {
    /// The number after this one.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Returns how far this number is ahead of `other`, negative when it is behind. At a distance of exactly 2^31, where RFC 1982 (section 3.2) leaves the
    /// order undefined, the result is `i32::MIN` both ways.
    #[inline]
    #[must_use]
    pub const fn ahead_of(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }

    /// True if this number is greater than `other` in the sense of RFC 1982, section 3.2. False both ways where the order is undefined.
    #[inline]
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        self.ahead_of(other) > 0
    }

    /// True if this number is less than `other`. False both ways where the order is undefined.
    #[inline]
    #[must_use]
    pub const fn is_before(self, other: Self) -> bool {
        other.is_after(self)
    }

    /// The earlier of two numbers less than 2^31 apart.
    #[inline]
    #[must_use]
    pub const fn earlier(self, other: Self) -> Self {
        if other.is_before(self) { other } else { self }
    }
}

impl Add<u32> for Sequence {
    type Output = Self;

    #[inline]
    fn add(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }
}

impl AddAssign<u32> for Sequence {
    #[inline]
    fn add_assign(&mut self, count: u32) {
        *self = *self + count;
    }
}

impl Sub<u32> for Sequence {
    type Output = Self;

    #[inline]
    fn sub(self, count: u32) -> Self {
        Self(self.0.wrapping_sub(count))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u32> for Sequence {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_goes_around() {
        assert!(Sequence(0).is_after(Sequence(u32::MAX)));
        assert!(Sequence(u32::MAX).is_before(Sequence(0)));
        assert_eq!(Sequence(5).ahead_of(Sequence(u32::MAX - 4)), 10);
        assert_eq!(Sequence(u32::MAX - 4).ahead_of(Sequence(5)), -10);
        assert_eq!(Sequence(u32::MAX).next(), Sequence(0));
        assert_eq!(Sequence(3) - 5, Sequence(u32::MAX - 1));
        assert_eq!(Sequence(1).earlier(Sequence(u32::MAX)), Sequence(u32::MAX));
    }

    #[test]
    fn half_way_round_is_undefined() {
        let (a, b) = (Sequence(7), Sequence(7) + (1 << 31));
        assert!(!a.is_after(b) && !a.is_before(b));
        assert!(!b.is_after(a) && !b.is_before(a));
        assert!((a + ((1 << 31) - 1)).is_after(a));
        assert!((a + ((1 << 31) + 1)).is_before(a));
    }
}
