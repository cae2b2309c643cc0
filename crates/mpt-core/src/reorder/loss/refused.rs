//! Missing numbers of which the peer has said that they will not come.

use smallvec::SmallVec;

use crate::reorder::position::history;
use crate::sequence::Sequence;

/// Ranges that are kept at the most: twice what one message names. The earliest goes first.
const MOST: usize = 64;

/// The numbers, as ranges. They are not before a front, which the owner names, and not far ahead of it.
#[derive(Debug, Default)]
pub(in crate::reorder) struct Refused {
    /// The first number of each range, and the one behind its last.
    ranges: SmallVec<[(Sequence, Sequence); 4]>,
}

impl Refused {
    /// Adds `count` numbers from `first` on. Returns how many of them are within reach of `front`; the
    /// others are ignored.
    pub(in crate::reorder) fn insert(
        &mut self,
        front: Sequence,
        first: Sequence,
        count: u32,
    ) -> u32 {
        self.forget_before(front);
        let reach = history::LEN.cast_signed();
        let ahead = |number: Sequence| number.ahead_of(front).clamp(0, reach);
        if !(-reach..reach).contains(&first.ahead_of(front)) {
            return 0;
        }
        let (from, end) = (ahead(first), ahead(first + count));
        if from >= end {
            return 0;
        }
        let range = (front + from.unsigned_abs(), front + end.unsigned_abs());
        // A message that is repeated adds nothing.
        if self.end_of(range.0) != Some(range.1) {
            if self.ranges.len() == MOST {
                self.ranges.remove(0);
            }
            self.ranges.push(range);
        }
        (end - from).unsigned_abs()
    }

    /// Returns the number behind the range that contains `number`.
    pub(in crate::reorder) fn end_of(&self, number: Sequence) -> Option<Sequence> {
        let contains = |&&(first, end): &&(Sequence, Sequence)| {
            !first.is_after(number) && number.is_before(end)
        };
        self.ranges.iter().find(contains).map(|&(_, end)| end)
    }

    /// Forgets the ranges before a number.
    pub(in crate::reorder) fn forget_before(&mut self, front: Sequence) {
        self.ranges.retain(|&mut (_, end)| end.is_after(front));
    }

    /// Forgets all of them.
    pub(in crate::reorder) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRONT: Sequence = Sequence(u32::MAX - 2);

    #[test]
    fn a_number_is_refused_until_the_front_has_passed_it() {
        let mut refused = Refused::default();
        assert_eq!(refused.insert(FRONT, FRONT + 1, 4), 4);
        assert_eq!(refused.insert(FRONT, FRONT + 1, 4), 4);
        assert_eq!(refused.ranges.len(), 1);
        assert_eq!(refused.end_of(FRONT), None);
        assert_eq!(refused.end_of(FRONT + 4), Some(FRONT + 5));
        assert_eq!(refused.end_of(FRONT + 5), None);
        refused.forget_before(FRONT + 4);
        assert!(!refused.ranges.is_empty());
        refused.forget_before(FRONT + 5);
        assert!(refused.ranges.is_empty());
    }

    #[test]
    fn numbers_out_of_reach_are_ignored_and_the_ranges_are_bounded() {
        let mut refused = Refused::default();
        assert_eq!(refused.insert(FRONT, FRONT - 5, 5), 0, "before the front");
        assert_eq!(refused.insert(FRONT, FRONT + (1 << 20), 1), 0);
        assert_eq!(refused.insert(FRONT, FRONT + (1 << 31), u32::MAX >> 1), 0);
        assert_eq!(refused.insert(FRONT, FRONT - 5, 7), 2);
        assert_eq!(refused.insert(FRONT, FRONT + 65_530, 65_535), 6);
        for n in 0..1_000 {
            refused.insert(FRONT, FRONT + 2 * n, 1);
        }
        assert_eq!(refused.ranges.len(), MOST);
        assert_eq!(refused.end_of(FRONT + 1_998), Some(FRONT + 1_999));
    }
}
