//! Sets of sequence numbers that mostly come in runs.

/// A set of numbers, kept as sorted runs that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// The runs: the first number of each, and the one after its last.
    runs: Vec<(u64, u64)>,
    count: u64,
}

impl Ranges {
    /// Adds the numbers from `from` up to `to`; calls `added` with the runs of those that were not there.
    pub fn insert(&mut self, from: u64, to: u64, mut added: impl FnMut(u64, u64)) {
        if from >= to {
            return;
        }
        // All runs that overlap or touch become one.
        let first = self.runs.partition_point(|run| run.1 < from);
        let last = self.runs.partition_point(|run| run.0 <= to);
        let mut at = from;
        for run in &self.runs[first..last] {
            if at < run.0 {
                self.count += run.0 - at;
                added(at, run.0);
            }
            at = at.max(run.1);
        }
        if at < to {
            self.count += to - at;
            added(at, to);
        }
        if first == last {
            self.runs.insert(first, (from, to));
        } else {
            let joined = (self.runs[first].0.min(from), self.runs[last - 1].1.max(to));
            self.runs[first] = joined;
            self.runs.drain(first + 1..last);
        }
    }

    /// Removes everything below `limit`.
    pub fn remove_below(&mut self, limit: u64) {
        let gone = self.runs.partition_point(|run| run.1 <= limit);
        for (from, to) in self.runs.drain(..gone) {
            self.count -= to - from;
        }
        if let Some(run) = self.runs.first_mut()
            && run.0 < limit
        {
            self.count -= limit - run.0;
            run.0 = limit;
        }
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.count = 0;
    }

    /// True if a number is in it.
    pub fn contains(&self, number: u64) -> bool {
        self.run_of(number).is_some()
    }

    /// Returns the run that a number is in.
    pub fn run_of(&self, number: u64) -> Option<(u64, u64)> {
        let index = self.runs.partition_point(|run| run.1 <= number);
        self.runs.get(index).copied().filter(|run| run.0 <= number)
    }

    /// Returns the lowest run.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.runs.first().copied()
    }

    /// Returns the runs, from the lowest.
    pub fn runs(&self) -> &[(u64, u64)] {
        &self.runs
    }

    /// Returns how many numbers are in it.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number above the highest one.
    pub fn end(&self) -> Option<u64> {
        self.runs.last().map(|run| run.1)
    }

    /// Returns the `rank`-th highest number, from 1.
    pub fn highest(&self, rank: u64) -> Option<u64> {
        let mut left = rank;
        for &(from, to) in self.runs.iter().rev() {
            if to - from >= left {
                return Some(to - left);
            }
            left -= to - from;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_set(
            steps in prop::collection::vec((0_u64..60, 0_u64..8, prop::bool::weighted(0.1)), 0..60),
        ) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            for (from, length, remove) in steps {
                if remove {
                    ranges.remove_below(from);
                    set = set.split_off(&from);
                } else {
                    let mut added = Vec::new();
                    ranges.insert(from, from + length, |from, to| added.extend(from..to));
                    let new: Vec<u64> =
                        (from..from + length).filter(|number| !set.contains(number)).collect();
                    prop_assert_eq!(added, new);
                    set.extend(from..from + length);
                }
                let flat: Vec<u64> = ranges.runs().iter().flat_map(|run| run.0..run.1).collect();
                prop_assert_eq!(&flat, &set.iter().copied().collect::<Vec<u64>>());
                prop_assert!(ranges.runs().windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert_eq!(ranges.count(), set.len() as u64);
                for number in 0..70 {
                    prop_assert_eq!(ranges.contains(number), set.contains(&number));
                }
                for rank in 1..5 {
                    let nth = set.iter().rev().nth(rank as usize - 1).copied();
                    prop_assert_eq!(ranges.highest(rank), nth);
                }
            }
        }
    }
}
