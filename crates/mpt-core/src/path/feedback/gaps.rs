//! The missing numbers: those that have not arrived although later ones have, or although the peer
//! has announced them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::reorder::position::history::{History, LEN};
use crate::sequence::Sequence;

/// A number that was passed longer ago than this is of no use any more: nothing waits for it.
pub(crate) const LONGEST_HOLD: Duration = Duration::from_millis(1_500);
/// Time between two moments that are remembered.
const STEP: Duration = Duration::from_millis(5);
/// The time without a number that fits after which the numbering is taken to have begun anew.
const LOST_TRACK: Duration = Duration::from_secs(1);
/// H: numbers farther from one another than this cannot be judged.
const REACH: i32 = LEN as i32;

/// The record of which of the latest 65,536 numbers have arrived.
#[derive(Debug)]
pub(crate) struct Gaps {
    history: History,
    /// All before have come, or are of no interest.
    from: Sequence,
    /// Behind the highest number that came, or that the peer says it sent.
    end: Sequence,
    /// The values of `end` at recent times, the oldest first.
    moments: VecDeque<(Instant, Sequence)>,
    /// The time at which a number last fitted.
    fitted: Instant,
}

impl Gaps {
    /// A record in which nothing is missing before `next`.
    pub(crate) fn new(now: Instant, next: u32) -> Self {
        let next = Sequence(next);
        Self {
            history: History::new(),
            from: next,
            end: next,
            moments: VecDeque::new(),
            fitted: now,
        }
    }

    /// A packet came. Returns whether numbers directly before it are missing that were not before.
    #[inline]
    pub(crate) fn note(&mut self, now: Instant, number: u32) -> bool {
        let number = Sequence(number);
        let ahead = number.ahead_of(self.end);
        if ahead == 0 {
            self.fitted = now;
            self.end = number.next();
            self.history.insert_next(number);
            if self.moments.back().is_none_or(|&(at, _)| now >= at + STEP) {
                self.remember(now);
            }
            return false;
        }
        self.note_out_of_order(now, number, ahead)
    }

    #[cold]
    fn note_out_of_order(&mut self, now: Instant, number: Sequence, ahead: i32) -> bool {
        if !(-REACH..REACH).contains(&ahead) {
            if now >= self.fitted + LOST_TRACK {
                *self = Self::new(now, number.next().0);
            }
            return false;
        }
        self.fitted = now;
        if ahead > 0 {
            self.extend(now, number.next());
        }
        self.history.insert(number);
        ahead > 0
    }

    /// The peer says that it has sent everything up to a number. Returns whether that is news.
    pub(crate) fn told(&mut self, now: Instant, number: u32) -> bool {
        let number = Sequence(number);
        let news = (0..REACH).contains(&number.ahead_of(self.end));
        if news {
            self.extend(now, number.next());
        }
        news
    }

    /// Earlier numbers will not be sent again.
    pub(crate) fn forget_before(&mut self, number: u32) {
        let number = Sequence(number);
        if (0..REACH).contains(&number.ahead_of(self.from)) {
            self.from = number;
        }
    }

    /// These numbers will not be sent again: they are not missing any more.
    pub(crate) fn refuse(&mut self, first: u32, count: u32) {
        // A peer that keeps nothing before later numbers than have come has moved `from` beyond `end`.
        let reach = self.end.ahead_of(self.from).clamp(0, REACH);
        let ahead = |number: Sequence| number.ahead_of(self.from).clamp(0, reach);
        let first = Sequence(first);
        if (-REACH..REACH).contains(&first.ahead_of(self.from)) {
            let (from, end) = (ahead(first), ahead(first + count));
            let (first, count) = (self.from + from.unsigned_abs(), (end - from).max(0));
            self.history.insert_all(first, count.unsigned_abs());
        }
    }

    /// The numbers up to `end` enter the history as not come.
    fn extend(&mut self, now: Instant, end: Sequence) {
        let count = end.ahead_of(self.end).unsigned_abs();
        self.history.remove(self.end, count);
        self.end = end;
        if (end - LEN).is_after(self.from) {
            self.from = end - LEN;
        }
        self.remember(now);
    }

    #[cold]
    fn remember(&mut self, now: Instant) {
        match self.moments.back_mut() {
            Some((at, end)) if now < *at + STEP => *end = self.end,
            _ => self.moments.push_back((now, self.end)),
        }
        self.forget_old(now);
    }

    /// Gives up numbers that were passed too long ago.
    fn forget_old(&mut self, now: Instant) {
        while let Some(&(at, end)) = self.moments.front()
            && at + LONGEST_HOLD < now
        {
            self.moments.pop_front();
            if end.is_after(self.from) {
                self.from = end;
            }
        }
        if (self.end - LEN).is_after(self.from) {
            self.from = self.end - LEN;
        }
    }

    /// Forgets what has come and what is too old. Returns whether anything is missing.
    pub(crate) fn update(&mut self, now: Instant) -> bool {
        self.forget_old(now);
        let missing = self.history.find(self.from, self.end, false);
        self.from =
            missing.unwrap_or(if self.end.is_after(self.from) { self.end } else { self.from });
        missing.is_some()
    }

    /// Returns what is missing, the oldest first: first number and count.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (u32, u16)> + '_ {
        let mut from = self.from;
        std::iter::from_fn(move || {
            let first = self.history.find(from, self.end, false)?;
            let behind = self.history.find(first, self.end, true).unwrap_or(self.end);
            let count = behind.ahead_of(first).min(i32::from(u16::MAX)) as u16;
            from = first + u32::from(count);
            Some((first.0, count))
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn missing(gaps: &mut Gaps, now: Instant) -> Vec<(u32, u16)> {
        let any = gaps.update(now);
        let missing: Vec<_> = gaps.missing().collect();
        assert_eq!(any, !missing.is_empty());
        missing
    }

    #[test]
    fn a_gap_is_told_until_it_is_filled() {
        let now = Instant::now();
        let start = u32::MAX - 1;
        let mut gaps = Gaps::new(now, start);
        assert!(!gaps.note(now, start));
        assert!(gaps.note(now, 3));
        assert_eq!(missing(&mut gaps, now), [(u32::MAX, 4)]);
        assert!(!gaps.note(now, 1));
        assert_eq!(missing(&mut gaps, now), [(u32::MAX, 2), (2, 1)]);
        for number in [u32::MAX, 0, 2] {
            assert!(!gaps.note(now, number));
        }
        assert_eq!(missing(&mut gaps, now), []);
    }

    #[test]
    fn a_tail_is_missing_once_the_peer_tells_of_it() {
        let now = Instant::now();
        let mut gaps = Gaps::new(now, 0);
        gaps.note(now, 0);
        assert!(gaps.told(now, 4));
        assert!(!gaps.told(now, 4));
        assert_eq!(missing(&mut gaps, now), [(1, 4)]);
        gaps.forget_before(3);
        assert_eq!(missing(&mut gaps, now), [(3, 2)]);
    }

    #[test]
    fn what_the_peer_refuses_is_not_asked_for() {
        let now = Instant::now();
        let start = u32::MAX - 1;
        let mut gaps = Gaps::new(now, start);
        gaps.note(now, start.wrapping_add(9));
        gaps.refuse(start.wrapping_add(2), 3);
        assert_eq!(missing(&mut gaps, now), [(start, 2), (3, 4)]);
        // Beyond what has come, and before what is kept.
        gaps.refuse(start.wrapping_sub(5), 6);
        gaps.refuse(6, 1_000);
        gaps.refuse(1 << 30, 1_000);
        assert_eq!(missing(&mut gaps, now), [(u32::MAX, 1), (3, 3)]);
        gaps.note(now, start.wrapping_add(11));
        assert_eq!(missing(&mut gaps, now), [(u32::MAX, 1), (3, 3), (8, 1)]);
    }

    #[test]
    fn a_refusal_of_what_has_not_come_yet_changes_nothing() {
        let now = Instant::now();
        let mut gaps = Gaps::new(now, 0);
        gaps.note(now, 0);
        gaps.forget_before(9);
        for (first, count) in [(0, 1), (1, 20), (9, 5), (u32::MAX, 30)] {
            gaps.refuse(first, count);
        }
        assert_eq!(missing(&mut gaps, now), []);
        gaps.note(now, 12);
        assert_eq!(missing(&mut gaps, now), [(9, 3)]);
    }

    #[test]
    fn what_is_too_old_is_not_asked_for() {
        let start = Instant::now();
        let mut gaps = Gaps::new(start, 0);
        gaps.note(start, 5);
        let later = start + Duration::from_secs(1);
        gaps.note(later, 9);
        assert_eq!(missing(&mut gaps, later), [(0, 5), (6, 3)]);
        assert_eq!(missing(&mut gaps, start + Duration::from_millis(1_600)), [(6, 3)]);
        assert_eq!(missing(&mut gaps, later + Duration::from_millis(1_600)), []);
    }

    #[test]
    fn a_number_out_of_reach_moves_nothing_until_nothing_else_comes() {
        let start = Instant::now();
        let mut gaps = Gaps::new(start, 0);
        gaps.note(start, 0);
        assert!(!gaps.note(start, 1 << 30));
        assert_eq!(missing(&mut gaps, start), []);
        let later = start + Duration::from_secs(2);
        gaps.note(later, 1 << 30);
        gaps.note(later, (1 << 30) + 2);
        assert_eq!(missing(&mut gaps, later), [((1 << 30) + 1, 1)]);
    }

    proptest! {
        /// Whatever comes, in whatever order: what is told is what has not come.
        #[test]
        fn what_is_missing_is_what_has_not_come(
            start in any::<u32>(),
            steps in proptest::collection::vec(0..3_000_u32, 1..300),
        ) {
            let now = Instant::now();
            let mut gaps = Gaps::new(now, start);
            let (mut came, mut end) = (BTreeSet::new(), 0);
            for offset in steps {
                gaps.note(now, start.wrapping_add(offset));
                came.insert(offset);
                end = end.max(offset + 1);
            }
            let told: BTreeSet<u32> = missing(&mut gaps, now)
                .into_iter()
                .flat_map(|(first, count)| {
                    (0..u32::from(count)).map(move |i| first.wrapping_sub(start).wrapping_add(i))
                })
                .collect();
            let expected: BTreeSet<u32> = (0..end).filter(|it| !came.contains(it)).collect();
            prop_assert_eq!(told, expected);
        }
    }
}
