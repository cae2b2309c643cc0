//! The store of waiting packets: slots addressed by number, and a bitmap of the filled ones.

use crate::sequence::Sequence;

/// The smallest number of slots, one word of the bitmap.
const SMALLEST: usize = 64;

/// The state of a packet in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It waits, and is counted when it is delivered.
    Waits,
    /// It waits, and was counted on arrival.
    Counted,
    /// It was delivered and counted on arrival: only its number is kept, so that a copy is known.
    Passed,
}

/// A packet in the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<P> {
    pub(super) packet: P,
    /// The time of its arrival, in nanoseconds of the buffer's clock.
    pub(super) arrival: u64,
    /// Distance to the next packet of the chain of records (see [`Ring`]), 0 at its end.
    next_record: u16,
    pub(super) state: State,
}

/// The stored packets.
///
/// A connection without reordering has no slots at all; they are allocated when a packet has to
/// wait, and doubled when one is further ahead than there are slots, up to the window. So a
/// connection uses memory for the delay differences it really has, and growing costs a constant
/// time per packet in the long run (each of at most ten doublings copies what is stored).
///
/// The store finds its oldest packet without a search. A packet that arrived after one of a higher
/// number can never become the oldest, because the older one also leaves later. So only packets
/// that were the highest at their arrival matter (the *records*). They are chained in their slots,
/// ascending both in number and in time.
#[derive(Debug)]
pub(super) struct Ring<P> {
    slots: Vec<Slot<P>>,
    filled: Vec<u64>,
    len: u32,
    /// The stored packets that were delivered already.
    passed: u32,
    /// First and last of the chain of records, valid while there are packets. The last one is the
    /// highest number stored.
    first_record: Sequence,
    last_record: Sequence,
}

impl<P: Copy> Ring<P> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            filled: Vec::new(),
            len: 0,
            passed: 0,
            first_record: Sequence(0),
            last_record: Sequence(0),
        }
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns how many of the packets wait.
    pub(super) const fn waiting(&self) -> usize {
        (self.len - self.passed) as usize
    }

    /// True if the packet of this number is stored. The caller makes sure that the number is in the
    /// window (that begins with the number due).
    #[inline]
    pub(super) fn contains(&self, due: Sequence, number: Sequence) -> bool {
        let ahead = number.ahead_of(due) as usize;
        ahead < self.slots.len() && {
            let i = self.index(number);
            self.filled[i / 64] & (1 << (i % 64)) != 0
        }
    }

    /// Returns true if a stored packet was counted on arrival.
    pub(super) fn contains_counted(&self) -> bool {
        let filled = |i: usize| self.filled[i / 64] & (1 << (i % 64)) != 0;
        self.slots.iter().enumerate().any(|(i, slot)| slot.state == State::Counted && filled(i))
    }

    /// The packet of this number, if it is stored. The caller makes sure that the number is in the window.
    #[inline]
    pub(super) fn get(&self, number: Sequence) -> Option<&P> {
        if self.len == 0 {
            return None;
        }
        let i = self.index(number);
        (self.filled[i / 64] & (1 << (i % 64)) != 0).then(|| &self.slots[i].packet)
    }

    /// Stores a packet whose number is in the window and not stored.
    #[inline]
    pub(super) fn insert(
        &mut self,
        due: Sequence,
        number: Sequence,
        packet: P,
        arrival: u64,
        state: State,
    ) {
        let slot = Slot { packet, arrival, next_record: 0, state };
        self.passed += u32::from(state == State::Passed);
        let ahead = number.ahead_of(due) as usize;
        if ahead >= self.slots.len() {
            self.grow(due, ahead + 1, slot);
        }
        let i = self.index(number);
        self.slots[i] = slot;
        self.filled[i / 64] |= 1 << (i % 64);
        if self.len == 0 {
            self.first_record = number;
            self.last_record = number;
        } else if number.is_after(self.last_record) {
            let last = self.index(self.last_record);
            self.slots[last].next_record = number.ahead_of(self.last_record) as u16;
            self.last_record = number;
        }
        self.len += 1;
    }

    /// Takes out the packet of this number, which is the lowest one stored, if it is stored.
    #[inline]
    pub(super) fn take_first(&mut self, number: Sequence) -> Option<Slot<P>> {
        if self.len == 0 {
            return None;
        }
        let i = self.index(number);
        let bit = 1 << (i % 64);
        if self.filled[i / 64] & bit == 0 {
            return None;
        }
        self.filled[i / 64] &= !bit;
        self.len -= 1;
        let slot = self.slots[i];
        self.passed -= u32::from(slot.state == State::Passed);
        if number == self.first_record {
            self.first_record += u32::from(slot.next_record);
        }
        Some(slot)
    }

    /// Takes out the packet of this number, which is in the window, if it is stored. Afterwards nobody may
    /// ask for the oldest one any more.
    pub(super) fn take(&mut self, number: Sequence) -> Option<P> {
        let packet = *self.get(number)?;
        let i = self.index(number);
        self.filled[i / 64] &= !(1 << (i % 64));
        self.len -= 1;
        Some(packet)
    }

    /// The packet that has waited longest: its number and arrival.
    #[inline]
    pub(super) fn oldest(&self) -> Option<(Sequence, u64)> {
        if self.len == 0 {
            return None;
        }
        Some((self.first_record, self.slots[self.index(self.first_record)].arrival))
    }

    /// The highest number stored.
    pub(super) const fn highest(&self) -> Option<Sequence> {
        if self.len == 0 { None } else { Some(self.last_record) }
    }

    /// The lowest number stored, `due` being the number due. Works in words of the bitmap.
    #[inline]
    pub(super) fn lowest(&self, due: Sequence) -> Option<Sequence> {
        if self.len == 0 {
            return None;
        }
        let start = self.index(due);
        let words = self.filled.len();
        let mut word = self.filled[start / 64] & (u64::MAX << (start % 64));
        // The word with `start` is looked at twice, the second time from its beginning.
        for step in 0..=words {
            let w = (start / 64 + step) % words;
            if step > 0 {
                word = self.filled[w];
            }
            if word != 0 {
                let i = w * 64 + word.trailing_zeros() as usize;
                return Some(due + (i.wrapping_sub(start) & (self.slots.len() - 1)) as u32);
            }
        }
        None
    }

    /// Gives the memory back if nothing is stored.
    pub(super) fn shrink(&mut self) {
        if self.len == 0 {
            *self = Self::new();
        }
    }

    #[inline]
    fn index(&self, number: Sequence) -> usize {
        number.0 as usize & (self.slots.len() - 1)
    }

    #[cold]
    fn grow(&mut self, due: Sequence, slots: usize, filler: Slot<P>) {
        let len = slots.next_power_of_two().max(SMALLEST);
        let mut grown = Self { slots: vec![filler; len], filled: vec![0; len / 64], ..Self::new() };
        (grown.len, grown.passed) = (self.len, self.passed);
        (grown.first_record, grown.last_record) = (self.first_record, self.last_record);
        for ahead in 0..self.slots.len() as u32 {
            let number = due + ahead;
            if self.contains(due, number) {
                let i = grown.index(number);
                grown.slots[i] = self.slots[self.index(number)];
                grown.filled[i / 64] |= 1 << (i % 64);
            }
        }
        *self = grown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: Sequence = Sequence(u32::MAX - 70);

    #[test]
    fn grows_and_keeps_what_is_stored() {
        let mut ring = Ring::new();
        let offsets = [3u32, 1, 63, 64, 40, 5000, 200, 65_534];
        for (time, &offset) in offsets.iter().enumerate() {
            assert!(!ring.contains(DUE, DUE + offset));
            ring.insert(DUE, DUE + offset, offset, time as u64, State::Waits);
            assert!(ring.contains(DUE, DUE + offset));
        }
        let mut sorted = offsets;
        sorted.sort_unstable();
        let mut due = DUE;
        for &offset in &sorted {
            let oldest = ring.oldest().unwrap();
            let expected = (0..offsets.len())
                .filter(|&i| offsets[i] >= offset)
                .map(|i| (DUE + offsets[i], i as u64))
                .min_by_key(|&(_, time)| time);
            assert_eq!(Some(oldest), expected);
            assert_eq!(ring.lowest(due), Some(DUE + offset));
            assert_eq!(ring.highest(), Some(DUE + 65_534));
            assert_eq!(ring.take_first(DUE + offset).unwrap().packet, offset);
            due = (DUE + offset).next();
        }
        assert!(ring.is_empty());
        assert_eq!(ring.lowest(due), None);
        assert!(ring.take_first(due).is_none());
    }

    #[test]
    fn the_lowest_may_lie_in_the_first_word_around_the_ring() {
        let mut ring = Ring::new();
        let due = Sequence(10);
        ring.insert(due, due + 63, (), 0, State::Waits); // slot 9, in the same word as slot 10
        assert_eq!(ring.lowest(due), Some(due + 63));
    }
}
