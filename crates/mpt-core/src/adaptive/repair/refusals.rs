//! Refusals: numbers that are lost and will not be sent again. The peer is told of them, so that it
//! does not wait for them.

use crate::path::feedback::{MOST_RANGES, Ranges};
use crate::sequence::Sequence;

/// The refusals that the peer is to be told.
#[derive(Debug, Default)]
pub(in crate::adaptive) struct Refusals {
    ranges: Ranges,
    told: u64,
}

impl Refusals {
    /// Adds a number. Without room it is dropped here, and refused when the peer asks for it again.
    pub(in crate::adaptive) fn push(&mut self, number: Sequence) {
        if let Some((first, count)) = self.ranges.last_mut()
            && Sequence(*first) + u32::from(*count) == number
            && *count < u16::MAX
        {
            *count += 1;
        } else if self.ranges.len() < MOST_RANGES {
            self.ranges.push((number.0, 1));
        }
    }

    /// Returns the refusals that wait, and forgets them.
    pub(in crate::adaptive) fn take(&mut self) -> Ranges {
        self.told += self.ranges.iter().map(|&(_, count)| u64::from(count)).sum::<u64>();
        std::mem::take(&mut self.ranges)
    }

    /// Returns how many numbers were refused. A number that was refused twice counts twice.
    pub(in crate::adaptive) fn told(&self) -> u64 {
        self.told
    }

    /// Forgets the refusals that wait.
    pub(in crate::adaptive) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_numbers_are_one_range_and_the_ranges_are_bounded() {
        let mut refusals = Refusals::default();
        for number in [u32::MAX, 0, 1, 3] {
            refusals.push(Sequence(number));
        }
        assert_eq!(refusals.take().as_slice(), [(u32::MAX, 3), (3, 1)]);
        assert!(refusals.take().is_empty());
        (0..100_u32).for_each(|n| refusals.push(Sequence(2 * n)));
        assert_eq!(refusals.take().len(), MOST_RANGES);
        assert_eq!(refusals.told(), 4 + MOST_RANGES as u64);
    }
}
