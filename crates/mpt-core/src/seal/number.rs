//! 64-bit numbers of packets, of which the GRE header carries the lower half (as the extended sequence
//! numbers of RFC 4303, section 2.2.1 and appendix A).

/// Half of what 32 bits can tell apart.
const HALF: u64 = 1 << 31;

/// The last number that a packet can have.
pub(super) const LAST: u64 = u64::MAX - 1;

/// Returns the number with these lower 32 bits that is nearest to `near`: less than 2^31 above it, or at
/// most 2^31 below it; above it where none is so far below. The result is above [`LAST`] if that number
/// does not exist.
#[inline]
pub(crate) fn extend(near: u64, low: u32) -> u64 {
    let ahead = u64::from(low.wrapping_sub(near as u32));
    if ahead < HALF {
        near.saturating_add(ahead)
    } else {
        near.checked_sub((1 << 32) - ahead).unwrap_or(near.saturating_add(ahead))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_around_a_wrap_are_told_apart() {
        let wrap = 5 << 32;
        assert_eq!(extend(wrap - 1, u32::MAX), wrap - 1);
        assert_eq!(extend(wrap - 1, 0), wrap);
        assert_eq!(extend(wrap - 1, 65_535), wrap + 65_535);
        assert_eq!(extend(wrap, u32::MAX), wrap - 1);
        assert_eq!(extend(wrap + 65_535, u32::MAX), wrap - 1);
    }

    #[test]
    fn no_number_is_below_the_first_or_above_the_last() {
        assert_eq!(extend(0, 0), 0);
        assert_eq!(extend(0, u32::MAX), u64::from(u32::MAX));
        assert_eq!(extend(3, u32::MAX), u64::from(u32::MAX));
        assert_eq!(extend(u64::MAX - 1, u32::MAX - 1), u64::MAX - 1);
        assert!(extend(u64::MAX - 1, 3) > LAST);
        assert!(extend(u64::MAX - 1, u32::MAX) > LAST);
    }

    proptest! {
        #[test]
        fn the_nearest_number_is_found(near in any::<u64>(), distance in -(1_i64 << 31)..1 << 31) {
            if let Some(number) = near.checked_add_signed(distance) {
                prop_assert_eq!(extend(near, number as u32), number);
                prop_assert_eq!(extend(near, number as u32) as u32, number as u32);
            }
        }
    }
}
