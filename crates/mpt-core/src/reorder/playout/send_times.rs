//! The send times of numbers, by the peer's clock.
//!
//! Data packets have no room for a time stamp. So the peer sends the send times of some numbers
//! (anchors), and those of the others are interpolated.

use std::collections::VecDeque;

use crate::path::feedback::PAUSE;
use crate::sequence::Sequence;

/// The most anchors that are kept. With 32 new ones in 20 ms they cover 2.5 s, which is longer than
/// any packet waits.
const MOST: usize = 4_096;
/// Times that differ by no more than this count as equal, in microseconds.
const ROUNDING: i64 = 500;

/// The send time of a number, and how long the number had waited in the queue, in microseconds of
/// the peer's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) at: i64,
    pub(super) waited: i64,
}

/// A number with its send time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Anchor {
    number: Sequence,
    sent: i64,
    waited: i64,
    /// True if the peer has no anchors between the one before and this one.
    joined: bool,
}

/// The anchors, ascending in number and time.
#[derive(Debug, Default)]
pub(super) struct SendTimes {
    anchors: VecDeque<Anchor>,
}

impl SendTimes {
    /// Takes the send time of a number. If it contradicts earlier ones, it replaces them.
    pub(super) fn note(&mut self, number: Sequence, Left { at: sent, waited }: Left) {
        let place = self.anchors.iter().rposition(|it| !it.number.is_after(number));
        let place = place.map_or(0, |place| place + 1);
        let before = place.checked_sub(1).map(|before| self.anchors[before]);
        let after = self.anchors.get(place).copied();
        // Times of two messages may differ by rounding.
        let earliest = before.map_or(i64::MIN, |it| it.sent);
        let latest = after.map_or(i64::MAX, |it| it.sent);
        let contradicts =
            sent < earliest.saturating_sub(ROUNDING) || sent > latest.saturating_add(ROUNDING);
        if before.is_some_and(|it| it.number == number) {
            if (sent - earliest).abs() <= ROUNDING {
                return;
            }
            self.anchors.clear();
        } else if contradicts {
            self.anchors.clear();
        }
        let sent = if self.anchors.is_empty() { sent } else { sent.clamp(earliest, latest) };
        let place = place.min(self.anchors.len());
        let place = if self.anchors.len() < MOST {
            place
        } else if let Some(place) = place.checked_sub(1) {
            self.anchors.pop_front();
            place
        } else {
            // The anchor is older than all that are kept.
            return;
        };
        let joined = self.anchors.get(place).is_some_and(|after| after.joined);
        self.anchors.insert(place, Anchor { number, sent, waited, joined });
    }

    /// Notes two neighbouring anchors of one message, between which there are no others. Nothing is
    /// known of the numbers before the first anchor of a message as long as an earlier message may
    /// still arrive.
    pub(super) fn join(&mut self, one: Sequence, other: Sequence) {
        let (first, last) = if one.is_before(other) { (one, other) } else { (other, one) };
        let from = self.anchors.partition_point(|it| !it.number.is_after(first));
        let joined = self.anchors.iter_mut().skip(from);
        joined.take_while(|it| !it.number.is_after(last)).for_each(|it| it.joined = true);
    }

    /// Returns the send time of a number between two anchors. Its wait is the shorter one of
    /// theirs: a packet that is played out early shows TCP a path that is shorter than any later
    /// packet will find it.
    pub(super) fn between(&self, number: Sequence) -> Option<Left> {
        let place = self.anchors.partition_point(|it| !it.number.is_after(number));
        let before = self.anchors.get(place.checked_sub(1)?)?;
        if before.number == number {
            return Some(Left { at: before.sent, waited: before.waited });
        }
        let after = self.anchors.get(place).filter(|after| after.joined)?;
        if after.sent - before.sent > PAUSE {
            return Some(Left { at: before.sent, waited: before.waited });
        }
        let span = i64::from(after.number.ahead_of(before.number)).max(1);
        let into = i64::from(number.ahead_of(before.number));
        let part = |from: i64, to: i64| from + (to - from) * into / span;
        Some(Left { at: part(before.sent, after.sent), waited: before.waited.min(after.waited) })
    }

    /// Returns the send time of a number. As long as the peer has not sent it, that is `guess`, or
    /// the send time of a later number if that is earlier: a message with send times may be lost,
    /// and a packet that was sent again has arrived much later than its send time suggests.
    pub(super) fn left(&self, number: Sequence, guess: i64) -> Left {
        self.between(number).unwrap_or_else(|| {
            let later = self.anchors.partition_point(|it| !it.number.is_after(number));
            let bound = self.anchors.get(later).map_or(i64::MAX, |it| it.sent);
            Left { at: guess.min(bound), waited: 0 }
        })
    }

    /// Forgets the send times that are needed for no number from this one on.
    pub(super) fn forget_before(&mut self, number: Sequence) {
        while self.anchors.get(1).is_some_and(|second| !second.number.is_after(number)) {
            self.anchors.pop_front();
        }
    }

    /// Returns the send time of the last anchor.
    pub(super) fn latest(&self) -> Option<i64> {
        Some(self.anchors.back()?.sent)
    }

    /// Returns the last number that is known to have left by then.
    pub(super) fn latest_before(&self, time: i64) -> Option<Sequence> {
        let place = self.anchors.partition_point(|it| it.sent <= time);
        Some(self.anchors.get(place.checked_sub(1)?)?.number)
    }

    /// Forgets all anchors, since the peer's numbers begin anew.
    pub(super) fn clear(&mut self) {
        self.anchors.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(anchors: &[(u32, i64)]) -> SendTimes {
        let mut times = SendTimes::default();
        for (i, &(number, at)) in anchors.iter().enumerate() {
            times.note(Sequence(number), Left { at, waited: at / 10 });
            if let Some((before, _)) = i.checked_sub(1).map(|before| anchors[before]) {
                times.join(Sequence(before), Sequence(number));
            }
        }
        times
    }

    #[test]
    fn numbers_between_two_anchors_left_between_their_times() {
        let near = u32::MAX - 1;
        let times =
            times(&[(near.wrapping_add(8), 1_800), (near, 1_000), (near.wrapping_add(16), 1_800)]);
        let between =
            |ahead: u32| times.between(Sequence(near.wrapping_add(ahead))).map(|left| left.at);
        assert_eq!([0, 2, 8, 12, 16].map(between), [1_000, 1_200, 1_800, 1_800, 1_800].map(Some));
        assert_eq!(between(17), None);
        let waited = times.between(Sequence(near.wrapping_add(2))).map(|left| left.waited);
        assert_eq!(waited, Some(100));
        assert_eq!(times.between(Sequence(near - 1)), None);
    }

    #[test]
    fn between_two_messages_nothing_is_known_until_the_one_between_them_has_come() {
        let mut times = times(&[(1, 1_000), (4, 2_000)]);
        for (number, at) in [(20, 9_000), (24, 9_800)] {
            times.note(Sequence(number), Left { at, waited: 0 });
        }
        times.join(Sequence(24), Sequence(20));
        let at = |times: &SendTimes, number| times.between(Sequence(number)).map(|left| left.at);
        assert_eq!([4, 12, 19].map(|n| at(&times, n)), [Some(2_000), None, None]);
        assert_eq!([20, 22].map(|n| at(&times, n)), [9_000, 9_400].map(Some));
        for (number, at) in [(4, 2_000), (12, 5_500), (20, 9_000)] {
            times.note(Sequence(number), Left { at, waited: 0 });
        }
        times.join(Sequence(4), Sequence(12));
        times.join(Sequence(12), Sequence(20));
        assert_eq!([4, 8, 12, 19].map(|n| at(&times, n)), [2_000, 2_000, 5_500, 5_500].map(Some));
    }

    #[test]
    fn a_peer_that_contradicts_itself_is_believed_from_now_on() {
        let mut times = times(&[(1, 1_000), (9, 2_000)]);
        times.note(Sequence(5), Left { at: 3_000, waited: 0 });
        assert_eq!(times.between(Sequence(1)), None);
        assert_eq!(times.between(Sequence(5)), Some(Left { at: 3_000, waited: 0 }));
        times.clear();
        assert_eq!(times.latest(), None);
    }

    #[test]
    fn what_comes_late_while_all_places_are_taken_finds_its_place() {
        let mut times = SendTimes::default();
        let mut tell = |n: u32| {
            times.note(Sequence(n), Left { at: 1_000 * i64::from(n), waited: 0 });
        };
        let most = MOST as u32;
        (0..=most).filter(|&n| n != most - 5).for_each(&mut tell);
        tell(most - 5);
        let numbers: Vec<_> = times.anchors.iter().map(|it| it.number.0).collect();
        assert!(numbers.is_sorted(), "{:?}", &numbers[numbers.len() - 9..]);
        times.note(Sequence(0), Left { at: 0, waited: 0 });
        assert_eq!((times.anchors.len(), times.anchors[0].number), (MOST, Sequence(1)));
    }

    #[test]
    fn there_is_a_bound_for_what_is_kept() {
        let mut times = SendTimes::default();
        (0..5_000).for_each(|n| times.note(Sequence(n), Left { at: i64::from(n), waited: 0 }));
        assert_eq!(times.anchors.len(), MOST);
        assert_eq!(times.between(Sequence(4_999)), Some(Left { at: 4_999, waited: 0 }));
    }
}
