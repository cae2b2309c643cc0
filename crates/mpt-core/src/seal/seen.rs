//! The record of which numbers have arrived, at all and on each path.

use smallvec::SmallVec;

use crate::session::ReplayWindow;

/// Words of the window over all paths: 65,536 numbers, as far as any packet may be late.
const WORDS: usize = 1024;
/// Words of the window of one path: 4,096 numbers. A copy that is later than that says nothing about
/// its path any more.
const PATH_WORDS: usize = 64;

/// The numbers that came under one key.
#[derive(Debug, Default)]
pub(super) struct Seen {
    all: ReplayWindow<WORDS>,
    /// By slot of the path.
    paths: SmallVec<[(u16, Box<ReplayWindow<PATH_WORDS>>); 2]>,
}

impl Seen {
    /// Returns true if a number may still come on the path in this slot: for the first time, or as a
    /// copy of what another path has brought.
    #[inline]
    pub(super) fn is_new(&self, number: u64, slot: u16) -> bool {
        if self.all.is_new(number) {
            return true;
        }
        // A path that has brought nothing yet brings no copy of what is too old to tell.
        let path = self.paths.iter().find(|(other, _)| *other == slot);
        self.all.covers(number) && path.is_none_or(|(_, seen)| seen.is_new(number))
    }

    /// Takes note of an authentic number that [`Self::is_new`]. Returns true if it is the first of its
    /// copies.
    #[inline]
    pub(super) fn insert(&mut self, number: u64, slot: u16) -> bool {
        let first = self.all.is_new(number);
        if first {
            self.all.insert(number);
        }
        let known = self.paths.iter().position(|(other, _)| *other == slot);
        let at = known.unwrap_or_else(|| {
            self.paths.push((slot, Box::default()));
            self.paths.len() - 1
        });
        let seen = &mut self.paths[at].1;
        if seen.is_new(number) {
            seen.insert(number);
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_first_once_and_a_copy_once_per_path() {
        let mut seen = Seen::default();
        assert!(seen.is_new(70_000, 0) && seen.insert(70_000, 0));
        assert!(!seen.is_new(70_000, 0), "a repetition on the same path");
        assert!(seen.is_new(70_000, 1) && !seen.insert(70_000, 1), "a copy on another one");
        assert!(!seen.is_new(70_000, 1), "which comes once, too");
        assert!(seen.is_new(69_999, 1) && seen.insert(69_999, 1));
        assert!(seen.is_new(69_999, 0) && !seen.insert(69_999, 0));
    }

    #[test]
    fn what_is_65536_behind_is_too_old_on_every_path() {
        let mut seen = Seen::default();
        seen.insert(100_000, 0);
        assert!(seen.is_new(100_000 - 65_535, 0));
        assert!(!seen.is_new(100_000 - 65_536, 0));
        assert!(!seen.is_new(100_000 - 65_536, 7), "a path that has brought nothing yet");
    }

    #[test]
    fn a_copy_that_is_4096_behind_its_path_counts_no_more() {
        let mut seen = Seen::default();
        seen.insert(10_000, 0);
        seen.insert(20_000, 1);
        assert!(!seen.is_new(10_000, 1));
        assert!(seen.is_new(10_000, 2));
        assert!(seen.is_new(10_001, 1), "that it comes for the first time counts");
    }
}
