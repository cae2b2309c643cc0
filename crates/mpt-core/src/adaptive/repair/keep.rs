//! The packets that the owner keeps: those that wait in the queue, and those that have left and may
//! have to be sent again. The owner has the bytes; this file has their places and the numbers under
//! which they left.

use std::collections::VecDeque;

use crate::StoreId;
use crate::adaptive::Tag;
use crate::sequence::Sequence;

/// The age after which a sent packet is forgotten, in microseconds, since no repair of it could
/// arrive in time.
pub(in crate::adaptive) const AGE: i64 = 1_500_000;
/// The most bytes of sent packets that are kept for one connection.
pub(in crate::adaptive) const MOST_BYTES: usize = 16 << 20;
/// The most sent packets and super-packets that are kept.
const MOST_PACKETS: usize = 16_384;
/// The most batches of numbers that are kept.
const MOST_BATCHES: usize = 65_536;

/// A packet or super-packet that the owner keeps.
#[derive(Clone, Copy, Debug)]
struct Packet {
    tag: Tag,
    /// Bytes of all of its segments.
    bytes: u32,
    /// The number of batches that refer to the packet.
    batches: u32,
    /// True while segments of the packet wait in the queue.
    waits: bool,
}

/// A batch: consecutive numbers under which consecutive segments of a packet have left.
#[derive(Clone, Copy, Debug)]
struct Batch {
    first: Sequence,
    count: u16,
    /// The first segment.
    segment: u16,
    packet: StoreId,
    /// The time at which the first one left.
    time: i64,
    /// The bytes of the largest segment.
    largest: u32,
    /// True if the segments were marked "congestion experienced".
    mark: bool,
}

/// The packet that was sent under a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) packet: StoreId,
    pub(crate) segment: u16,
    /// The bytes of the segment, at the most.
    pub(crate) bytes: u32,
    pub(crate) mark: bool,
}

/// The places of an owner's packets. It allocates when more are kept than ever before.
#[derive(Debug, Default)]
pub(in crate::adaptive) struct Keeper {
    /// By [`StoreId`].
    packets: Vec<Option<Packet>>,
    free: Vec<StoreId>,
    batches: VecDeque<Batch>,
    /// Packets that nothing needs any more, and that the owner has still to forget.
    released: VecDeque<(StoreId, Tag)>,
    /// The number and the bytes of packets that have batches and do not wait.
    kept: usize,
    bytes: usize,
}

impl Keeper {
    /// Gives a packet a place, which is taken until [`Self::leave`], or until the batches of the
    /// packet are forgotten.
    pub(in crate::adaptive) fn add(&mut self, bytes: u32, tag: Tag) -> StoreId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            StoreId(self.packets.len() as u32 - 1)
        });
        self.packets[id.0 as usize] = Some(Packet { tag, bytes, batches: 0, waits: true });
        id
    }

    /// Notes that a segment of a packet left under a number, the highest so far.
    pub(in crate::adaptive) fn note(&mut self, time: i64, number: u32, kept: Kept) {
        let number = Sequence(number);
        let Kept { packet, segment, bytes, mark } = kept;
        if let Some(last) = self.batches.back_mut()
            && last.packet == packet
            && last.mark == mark
            && last.count < u16::MAX
            && last.first + u32::from(last.count) == number
            && last.segment + last.count == segment
        {
            last.count += 1;
            last.largest = last.largest.max(bytes);
            return;
        }
        if self.batches.back().is_some_and(|last| !number.is_after(last.first)) {
            // The numbering has begun anew.
            self.forget_all();
        }
        let Some(Some(it)) = self.packets.get_mut(packet.0 as usize) else { return };
        it.batches += 1;
        let batch = Batch { first: number, count: 1, segment, packet, time, largest: bytes, mark };
        self.batches.push_back(batch);
    }

    /// Notes that no segment of a packet waits any more. Returns true if nothing else needs the
    /// packet, whose place is free then.
    pub(in crate::adaptive) fn leave(&mut self, id: StoreId) -> bool {
        let place = &mut self.packets[id.0 as usize];
        let Some(packet) = place else { return true };
        packet.waits = false;
        if packet.batches > 0 {
            self.kept += 1;
            self.bytes += packet.bytes as usize;
            return false;
        }
        *place = None;
        self.free.push(id);
        true
    }

    /// Notes that no segment of a packet waits any more. The owner learns by
    /// [`Self::take_released`] if nothing else needs the packet.
    pub(in crate::adaptive) fn drop_rest(&mut self, id: StoreId, tag: Tag) {
        if self.leave(id) {
            self.free.pop();
            self.released.push_back((id, tag));
        }
    }

    /// Returns the packet that was sent under a number, if it is kept.
    pub(in crate::adaptive) fn find(&self, number: u32) -> Option<Kept> {
        let number = Sequence(number);
        let place = self.batches.partition_point(|batch| !batch.first.is_after(number));
        let batch = self.batches.get(place.checked_sub(1)?)?;
        let offset = u16::try_from(number.ahead_of(batch.first)).ok()?;
        let Batch { packet, segment, largest, mark, .. } = *batch;
        (offset < batch.count).then_some(Kept {
            packet,
            segment: segment + offset,
            bytes: largest,
            mark,
        })
    }

    /// Returns the tag of a packet, which is needed to send a segment of it.
    pub(in crate::adaptive) fn tag(&self, id: StoreId) -> Option<Tag> {
        Some(self.packets.get(id.0 as usize)?.as_ref()?.tag)
    }

    /// Returns the lowest number that is kept.
    pub(in crate::adaptive) fn from(&self) -> Option<u32> {
        self.batches.front().map(|batch| batch.first.0)
    }

    /// Returns the time at which the oldest kept packet left.
    pub(in crate::adaptive) fn oldest(&self) -> Option<i64> {
        self.batches.front().map(|batch| batch.time)
    }

    /// Returns the bytes of packets that are kept and do not wait.
    pub(in crate::adaptive) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if the owner keeps any packet.
    pub(in crate::adaptive) fn holds_any(&self) -> bool {
        self.packets.len() > self.free.len()
    }

    /// Forgets packets that left before `time`.
    pub(in crate::adaptive) fn forget_before(&mut self, time: i64) {
        while self.batches.front().is_some_and(|batch| batch.time < time) {
            self.forget_oldest();
        }
    }

    /// Forgets the batches of which all numbers are before `number`.
    pub(in crate::adaptive) fn forget_below(&mut self, number: u32) {
        let below =
            |batch: &Batch| !(batch.first + u32::from(batch.count)).is_after(Sequence(number));
        while self.batches.front().is_some_and(below) {
            self.forget_oldest();
        }
    }

    /// Forgets the oldest packets until at most this many bytes are kept.
    pub(in crate::adaptive) fn shrink(&mut self, bytes: usize) {
        while !self.batches.is_empty()
            && (self.bytes > bytes
                || self.kept >= MOST_PACKETS
                || self.batches.len() >= MOST_BATCHES)
        {
            self.forget_oldest();
        }
    }

    /// Forgets all packets that have left.
    pub(in crate::adaptive) fn forget_all(&mut self) {
        while !self.batches.is_empty() {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(batch) = self.batches.pop_front() else { return };
        let place = &mut self.packets[batch.packet.0 as usize];
        let Some(packet) = place else { return };
        packet.batches -= 1;
        if packet.batches == 0 && !packet.waits {
            self.kept -= 1;
            self.bytes -= packet.bytes as usize;
            self.released.push_back((batch.packet, packet.tag));
            *place = None;
        }
    }

    /// Returns a packet that the owner is to forget. Its place is free then.
    pub(in crate::adaptive) fn take_released(&mut self) -> Option<(StoreId, Tag)> {
        let released = self.released.pop_front()?;
        self.free.push(released.0);
        Some(released)
    }

    /// Returns true if there are packets that the owner is to forget.
    pub(in crate::adaptive) fn has_released(&self) -> bool {
        !self.released.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use mpt_wire::gre;

    use super::*;

    const TAG: Tag = Tag {
        protocol: gre::Protocol::IPV4,
        outer_tos: 0,
        flow_hash: 0,
        protected: false,
        urgent: false,
        way: crate::adaptive::Way { only: None, at_once: false, unordered: false },
    };

    fn kept(packet: StoreId, segment: u16) -> Kept {
        Kept { packet, segment, bytes: 1_400, mark: false }
    }

    #[test]
    fn a_packet_is_released_when_nothing_needs_it() {
        let mut keeper = Keeper::default();
        let packet = keeper.add(4_200, TAG);
        let start = u32::MAX - 1;
        for segment in 0..3 {
            keeper.note(10, start.wrapping_add(segment.into()), kept(packet, segment));
        }
        assert!(!keeper.leave(packet));
        assert_eq!(keeper.bytes(), 4_200);
        assert_eq!(keeper.find(start.wrapping_add(2)), Some(kept(packet, 2)));
        assert_eq!(keeper.find(start.wrapping_add(3)), None);
        assert_eq!(keeper.find(start.wrapping_sub(1)), None);
        keeper.forget_below(start.wrapping_add(2));
        assert_eq!(keeper.take_released(), None, "the last segment may be asked for");
        keeper.forget_below(start.wrapping_add(3));
        assert_eq!(keeper.take_released().map(|it| it.0), Some(packet));
        assert_eq!((keeper.bytes(), keeper.holds_any()), (0, false));
    }

    #[test]
    fn a_place_is_not_used_again_before_the_owner_knows() {
        let mut keeper = Keeper::default();
        let first = keeper.add(1_400, TAG);
        keeper.note(10, 1, kept(first, 0));
        keeper.leave(first);
        keeper.forget_before(11);
        let second = keeper.add(1_400, TAG);
        assert_ne!(first, second);
        assert!(keeper.take_released().is_some());
        assert_eq!(keeper.add(1_400, TAG), first);
        assert!(keeper.leave(second), "nothing of it has left");
    }

    #[test]
    fn the_oldest_goes_first_where_there_is_too_much() {
        let mut keeper = Keeper::default();
        for number in 0..10 {
            let packet = keeper.add(1_000, TAG);
            keeper.note(number.into(), number, kept(packet, 0));
            keeper.leave(packet);
        }
        keeper.shrink(3_000);
        assert_eq!((keeper.bytes(), keeper.from()), (3_000, Some(7)));
        assert_eq!(keeper.find(6), None);
    }
}
