//! Which counters of one path have been seen.

/// Number of frames by which a counter may lie behind the highest one seen. Frames of sessions are few: with 100 ms between probes these are minutes,
/// and a path that answers 20,000 probes a second for many clients has a window for each of them.
pub const WINDOW: u64 = 1024;

const CONTROL_WORDS: usize = (WINDOW / 64) as usize;

/// A sliding window of 64 numbers per word (RFC 6479 describes the principle): each number is accepted
/// once, and none that lies as many or more behind the highest as the window has room for. Without
/// another number of words, it is that of the control frames of one path in one direction.
#[derive(Clone, Debug)]
pub struct ReplayWindow<const WORDS: usize = CONTROL_WORDS> {
    /// The lowest number not below any seen: the highest seen plus one, 0 before the first.
    next: u64,
    /// One bit per number of the last below `next`, at the number modulo [`Self::LEN`].
    seen: [u64; WORDS],
}

impl<const WORDS: usize> Default for ReplayWindow<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "every sealed packet comes by; a number modulo the window has its word"
)]
impl<const WORDS: usize> ReplayWindow<WORDS> {
    /// Numbers in the window.
    const LEN: u64 = 64 * WORDS as u64;

    /// A window that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { next: 0, seen: [0; WORDS] }
    }

    /// Returns true if it is known whether `counter` was seen: it is not too old.
    #[must_use]
    pub const fn covers(&self, counter: u64) -> bool {
        counter >= self.next || self.next - counter <= Self::LEN
    }

    /// Returns true if `counter` would be accepted. Asked before a frame is opened: it spares the
    /// work.
    #[must_use]
    pub fn is_new(&self, counter: u64) -> bool {
        if counter >= self.next {
            return true;
        }
        self.covers(counter) && self.word(counter) & bit(counter) == 0
    }

    /// Takes note of `counter`, which an authentic frame carried, and which [`Self::is_new`]:
    /// whether it is higher than every one before. `u64::MAX` is no counter.
    pub fn insert(&mut self, counter: u64) -> bool {
        let fresh = counter >= self.next;
        if fresh {
            self.slide(counter + 1);
        }
        self.seen[Self::index(counter)] |= bit(counter);
        fresh
    }

    /// Moves the end of the window to `next`, and forgets what the counters that come in were
    /// before, a window ago.
    fn slide(&mut self, next: u64) {
        if next - self.next >= Self::LEN {
            self.seen = [0; WORDS];
        } else {
            for counter in self.next..next {
                self.seen[Self::index(counter)] &= !bit(counter);
            }
        }
        self.next = next;
    }

    fn word(&self, counter: u64) -> u64 {
        self.seen[Self::index(counter)]
    }

    const fn index(counter: u64) -> usize {
        (counter % Self::LEN / 64) as usize
    }
}

const fn bit(counter: u64) -> u64 {
    1 << (counter % 64)
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Remembers everything.
    #[derive(Default)]
    struct Naive(BTreeSet<u64>);

    impl Naive {
        fn is_new(&self, counter: u64) -> bool {
            let highest = self.0.last().copied();
            !self.0.contains(&counter) && highest.is_none_or(|highest| counter + WINDOW > highest)
        }

        fn insert(&mut self, counter: u64) -> bool {
            let fresh = self.0.last().is_none_or(|highest| counter > *highest);
            self.0.insert(counter);
            fresh
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// A counter that far ahead of the highest one.
        Ahead(u64),
        /// A counter that far behind the highest one.
        Behind(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (1_u64..4).prop_map(Step::Ahead),
            2 => (1_u64..200).prop_map(Step::Ahead),
            1 => (WINDOW - 3..WINDOW + 3).prop_map(Step::Ahead),
            1 => (0_u64..1 << 40).prop_map(Step::Ahead),
            4 => (0_u64..64).prop_map(Step::Behind),
            2 => (0_u64..WINDOW + 8).prop_map(Step::Behind),
            1 => (WINDOW - 3..WINDOW + 3).prop_map(Step::Behind),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_naive_model(
            start in prop_oneof![Just(0), 0_u64..5000, Just((1 << 48) - 2000)],
            steps in prop::collection::vec(step(), 1..400),
        ) {
            let (mut window, mut naive) = (<ReplayWindow>::new(), Naive::default());
            let mut highest: u64 = start;
            for step in steps {
                let counter = match step {
                    Step::Ahead(by) => highest + by,
                    Step::Behind(by) => highest.saturating_sub(by),
                };
                highest = highest.max(counter);
                let new = naive.is_new(counter);
                prop_assert_eq!(window.is_new(counter), new, "counter {}", counter);
                if new {
                    prop_assert_eq!(window.insert(counter), naive.insert(counter));
                    prop_assert!(!window.is_new(counter));
                }
            }
        }
    }

    #[test]
    fn its_edge_is_exact() {
        let mut window = <ReplayWindow>::new();
        assert!(window.insert(WINDOW));
        assert!(window.is_new(1));
        assert!(!window.is_new(0));
        assert!(!window.insert(1));
        assert!(window.insert(u64::MAX - 1));
        assert!(window.is_new(u64::MAX - WINDOW));
        assert!(!window.is_new(u64::MAX - WINDOW - 1));
    }
}
