//! The log of what was sent when and over which path, with one entry for each batch of consecutive
//! numbers.

use std::collections::VecDeque;

use crate::path::feedback::PAUSE;
use crate::sequence::Sequence;

/// The most entries that are kept. With batches of a millisecond on four paths they cover four
/// seconds, longer than any report needs.
const MOST: usize = 16_384;
/// Waiting times that differ by no more than this count as equal, in microseconds. It is the
/// precision with which the peer is told of them.
const SAME: i64 = 100;

/// A batch of consecutive numbers that left over one path at one time.
#[derive(Clone, Copy, Debug)]
struct Entry {
    first: Sequence,
    count: u32,
    /// The path, the time, and the counts of what had been sent over the path before this batch.
    before: Sent,
    /// The shortest time for which any of its packets had waited in the queue, in microseconds.
    waited: i64,
    /// The bytes of the batch.
    bytes: u32,
}

/// The log's entry for one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The slot of the path that carried it, unless that path was removed since.
    pub(crate) slot: Option<u16>,
    /// The time at which it left, in microseconds of the sender's clock.
    pub(crate) time: i64,
    /// Packets sent over this path up to and with this one, modulo 2^32.
    pub(crate) packets: u32,
    /// Bytes sent over this path up to and with this one, to the accuracy of its batch's mean.
    pub(crate) bytes: u64,
}

/// The log of a connection. It allocates as the number of batches under way grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentLog {
    entries: VecDeque<Entry>,
}

impl SentLog {
    /// Notes one packet that had waited in the queue for `waited` microseconds. `before` counts
    /// what was sent over the path before it.
    pub(crate) fn note(&mut self, number: u32, size: u32, waited: i64, before: Sent) {
        let number = Sequence(number);
        if let Some(last) = self.entries.back_mut()
            && last.before.slot == before.slot
            && last.before.time == before.time
            && last.first + last.count == number
        {
            last.count += 1;
            last.bytes += size;
            last.waited = last.waited.min(waited);
            return;
        }
        if self.entries.len() == MOST {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { first: number, count: 1, before, waited, bytes: size });
    }

    /// Returns the entry of a number, or `None` if it is too old or was never sent.
    pub(crate) fn find(&self, number: u32) -> Option<Sent> {
        let number = Sequence(number);
        let place = self.entries.partition_point(|entry| !entry.first.is_after(number));
        let entry = self.entries.get(place.checked_sub(1)?)?;
        let offset = u32::try_from(number.ahead_of(entry.first)).ok()?;
        if offset >= entry.count {
            return None;
        }
        let packets = offset + 1;
        let bytes = u64::from(entry.bytes) * u64::from(packets) / u64::from(entry.count);
        Some(Sent {
            packets: entry.before.packets.wrapping_add(packets),
            bytes: entry.before.bytes + bytes,
            ..entry.before
        })
    }

    /// Returns at most `most` of the batches that left at or after `time`, the latest first, each
    /// with its first number, its time, and the time for which that number had waited. They are
    /// spread evenly in time. A pause, and the end of a burst that had to wait, always lie between
    /// two neighbours, so a number between two of them left before the pause or evenly, and waited
    /// no less than one of the two.
    pub(crate) fn anchors(
        &self,
        time: i64,
        most: usize,
    ) -> impl Iterator<Item = (u32, i64, i64)> + '_ {
        let from = self.entries.partition_point(|entry| entry.before.time < time);
        let ends = self.entries.back().map(|last| last.before.time).zip(self.entries.get(from));
        let span = ends.map_or(0, |(last, first)| last - first.before.time);
        let apart = span / (most as i64 / 2).max(1);
        let places = (from..self.entries.len()).rev();
        let paused = |place: usize| {
            let (Some(entry), Some(next)) = (self.entries.get(place), self.entries.get(place + 1))
            else {
                return true;
            };
            next.before.time - entry.before.time > PAUSE || next.waited + SAME < entry.waited
        };
        let mut chosen = i64::MAX;
        let recent = places.filter_map(move |place| {
            let entry = &self.entries[place];
            let wanted = place == from || paused(place) || paused(place - 1);
            (wanted || chosen.saturating_sub(entry.before.time) >= apart).then(|| {
                chosen = entry.before.time;
                entry
            })
        });
        recent.take(most).map(|entry| (entry.first.0, entry.before.time, entry.waited))
    }

    /// Notes that a path was removed, whose slot another one may get.
    pub(crate) fn forget_path(&mut self, slot: u16) {
        for entry in self.entries.iter_mut().filter(|entry| entry.before.slot == Some(slot)) {
            entry.before.slot = None;
        }
    }

    /// Forgets batches that left before `time`.
    pub(crate) fn forget_before(&mut self, time: i64) {
        while self.entries.front().is_some_and(|entry| entry.before.time < time) {
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(slot: u16, time: i64, packets: u32, bytes: u64) -> Sent {
        Sent { slot: Some(slot), time, packets, bytes }
    }

    /// Returns the send time that a receiver derives from the anchors. Within a pause the earlier
    /// anchor counts.
    fn time_of(anchors: &[(u32, i64, i64)], number: u32) -> i64 {
        let at = anchors.iter().position(|&(first, ..)| first <= number).expect("an earlier one");
        let (first, earlier, _) = anchors[at];
        if first == number {
            return earlier;
        }
        let (next, later, _) = anchors[at - 1];
        let span = i64::from(next - first);
        if later - earlier > PAUSE {
            return earlier;
        }
        earlier + (later - earlier) * i64::from(number - first) / span
    }

    #[test]
    fn anchors_tell_of_each_number_when_it_left() {
        // Four in a row, of packets 100 microseconds apart, then a pause; and some that leave slowly.
        let fast = (0..400).map(|n| (n, i64::from(n) * 100 + i64::from(n / 100) * 15_000));
        let slow = (400..420).map(|n| (n, 100_000 + i64::from(n - 400) * 3_500));
        let sent: Vec<(u32, i64)> = fast.chain(slow).collect();
        let mut log = SentLog::default();
        for &(number, time) in &sent {
            log.note(number, 1_400, 70, before(0, time, number, 0));
        }
        let anchors: Vec<_> = log.anchors(0, 128).collect();
        assert!(anchors.len() < 100, "{}", anchors.len());
        for &(number, time) in &sent[..sent.len() - 1] {
            let told = time_of(&anchors, number);
            assert!((told - time).abs() < 2_600, "{number} left at {time}, not at {told}");
        }
        let few: Vec<_> = log.anchors(0, 8).collect();
        assert_eq!((few.len(), (few[0].0, few[0].1)), (8, *sent.last().unwrap()));
    }

    #[test]
    fn a_number_is_found_with_what_its_path_had_carried() {
        let mut log = SentLog::default();
        let start = u32::MAX - 1;
        for n in 0..4 {
            log.note(start.wrapping_add(n), 1_000, 70, before(0, 10, n, u64::from(n) * 1_000));
        }
        log.note(start.wrapping_add(4), 500, 70, before(1, 10, 7, 7_000));
        log.note(start.wrapping_add(5), 500, 70, before(0, 20, 4, 4_000));
        assert_eq!(log.entries.len(), 3);
        assert_eq!(log.find(start.wrapping_add(2)), Some(before(0, 10, 3, 3_000)));
        assert_eq!(log.find(start.wrapping_add(4)), Some(before(1, 10, 8, 7_500)));
        assert_eq!(log.find(start.wrapping_add(5)), Some(before(0, 20, 5, 4_500)));
        assert_eq!(log.find(start.wrapping_sub(1)), None);
        assert_eq!(log.find(start.wrapping_add(6)), None);
        assert_eq!(log.anchors(20, 8).collect::<Vec<_>>(), [(3, 20, 70)]);
        log.forget_before(20);
        assert_eq!(log.find(start), None);
    }
}
