//! What was sent when, over which path: one entry for a batch of consecutive numbers.

use std::collections::VecDeque;

use crate::sequence::Sequence;

/// Entries that are kept at the most. With batches of a millisecond on four paths this is four
/// seconds; older ones are of no use to anybody.
const MOST: usize = 16_384;

/// A batch of consecutive numbers that left over one path at one time.
#[derive(Clone, Copy, Debug)]
struct Entry {
    first: Sequence,
    count: u32,
    slot: u16,
    /// In microseconds of the sender's clock.
    time: i64,
    /// What had been sent over the path before this batch.
    packets: u32,
    bytes: u64,
    /// Bytes of the batch.
    batch_bytes: u32,
}

/// What is known of one number that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The path that carried it.
    pub(crate) slot: u16,
    /// When it left, in microseconds of the sender's clock.
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
    /// Notes one packet. `packets` and `bytes` count what was sent over the path before it.
    pub(crate) fn note(&mut self, number: u32, size: u32, before: Sent) {
        let number = Sequence(number);
        if let Some(last) = self.entries.back_mut()
            && last.slot == before.slot
            && last.time == before.time
            && last.first + last.count == number
        {
            last.count += 1;
            last.batch_bytes += size;
            return;
        }
        if self.entries.len() == MOST {
            self.entries.pop_front();
        }
        let Sent { slot, time, packets, bytes } = before;
        let first = number;
        self.entries.push_back(Entry {
            first,
            count: 1,
            slot,
            time,
            packets,
            bytes,
            batch_bytes: size,
        });
    }

    /// What is known of a number; `None` if it is too old, or was never sent.
    pub(crate) fn find(&self, number: u32) -> Option<Sent> {
        let number = Sequence(number);
        let place = self.entries.partition_point(|entry| !entry.first.is_after(number));
        let entry = self.entries.get(place.checked_sub(1)?)?;
        let offset = u32::try_from(number.ahead_of(entry.first)).ok()?;
        if offset >= entry.count {
            return None;
        }
        let packets = offset + 1;
        let bytes = u64::from(entry.batch_bytes) * u64::from(packets) / u64::from(entry.count);
        Some(Sent {
            slot: entry.slot,
            time: entry.time,
            packets: entry.packets.wrapping_add(packets),
            bytes: entry.bytes + bytes,
        })
    }

    /// The batches that left at or after `time`: first number and time, at most `most` of them, evenly
    /// spread, the latest one always among them.
    pub(crate) fn anchors(&self, time: i64, most: usize) -> impl Iterator<Item = (u32, i64)> + '_ {
        let from = self.entries.partition_point(|entry| entry.time < time);
        let step = (self.entries.len() - from).div_ceil(most.max(1)).max(1);
        let recent = self.entries.range(from..).rev().step_by(step);
        recent.map(|entry| (entry.first.0, entry.time))
    }

    /// Forgets what left before `time`.
    pub(crate) fn forget_before(&mut self, time: i64) {
        while self.entries.front().is_some_and(|entry| entry.time < time) {
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(slot: u16, time: i64, packets: u32, bytes: u64) -> Sent {
        Sent { slot, time, packets, bytes }
    }

    #[test]
    fn a_number_is_found_with_what_its_path_had_carried() {
        let mut log = SentLog::default();
        let start = u32::MAX - 1;
        for n in 0..4 {
            log.note(start.wrapping_add(n), 1_000, before(0, 10, n, u64::from(n) * 1_000));
        }
        log.note(start.wrapping_add(4), 500, before(1, 10, 7, 7_000));
        log.note(start.wrapping_add(5), 500, before(0, 20, 4, 4_000));
        assert_eq!(log.entries.len(), 3);
        assert_eq!(log.find(start.wrapping_add(2)), Some(before(0, 10, 3, 3_000)));
        assert_eq!(log.find(start.wrapping_add(4)), Some(before(1, 10, 8, 7_500)));
        assert_eq!(log.find(start.wrapping_add(5)), Some(before(0, 20, 5, 4_500)));
        assert_eq!(log.find(start.wrapping_sub(1)), None);
        assert_eq!(log.find(start.wrapping_add(6)), None);
        assert_eq!(log.anchors(20, 8).collect::<Vec<_>>(), [(3, 20)]);
        log.forget_before(20);
        assert_eq!(log.find(start), None);
    }
}
