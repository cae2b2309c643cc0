//! The places of the packets: a slab with three kinds of chains through it.

use std::num::NonZeroU32;
use std::time::Instant;

use super::outcome::Dropped;
use super::packet::Waiting;
use crate::StoreId;

/// A link to a place.
type Link = super::link::Link<NonZeroU32>;

/// The place of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The packet is in the queue.
    Waiting,
    /// Its last segment has left, and the owner knows.
    Left,
    /// Its last segment was dropped; the owner learns of it from [`Slots::pop_dropped`].
    Dropped,
    /// The place is free.
    Free,
}

/// A packet in its place.
#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    packet: Waiting<T>,
    arrival: Instant,
    stage: Stage,
    /// The next packet of its flow, or the next free place.
    next: Option<Link>,
    /// The next place with dropped segments that the owner does not know of.
    next_dropped: Option<Link>,
    /// Dropped segments that the owner does not know of. While there are any, the place is not free.
    dropped: u16,
    /// Bytes of those.
    dropped_bytes: u32,
}

/// The place of a packet as an index.
const fn index(id: StoreId) -> usize {
    id.0 as usize
}

/// The first and the last slot of a chain of packets, valid while there are any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) first: StoreId,
    last: StoreId,
}

impl Chain {
    /// A chain of one packet.
    pub(super) const fn of(id: StoreId) -> Self {
        Self { first: id, last: id }
    }
}

/// All places of a queue. They are allocated when they are first needed, up to the limit.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Option<Link>,
    first_dropped: Option<Link>,
    last_dropped: Option<Link>,
}

impl<T: Copy> Slots<T> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: None, first_dropped: None, last_dropped: None }
    }

    /// Puts a packet into a free place. `None`: `limit` places are in use.
    #[inline]
    pub(super) fn insert(
        &mut self,
        packet: Waiting<T>,
        arrival: Instant,
        limit: usize,
    ) -> Option<StoreId> {
        let slot = Slot {
            packet,
            arrival,
            stage: Stage::Waiting,
            next: None,
            next_dropped: None,
            dropped: 0,
            dropped_bytes: 0,
        };
        if let Some(free) = self.free {
            let id = StoreId(free.index());
            self.free = self.slots[index(id)].next;
            self.slots[index(id)] = slot;
            return Some(id);
        }
        let id = self.slots.len();
        if id >= limit.min(u32::MAX as usize) {
            return None;
        }
        self.slots.push(slot);
        Some(StoreId(id as u32))
    }

    #[inline]
    pub(super) fn packet(&self, id: StoreId) -> &Waiting<T> {
        &self.slots[index(id)].packet
    }

    #[inline]
    pub(super) fn arrival(&self, id: StoreId) -> Instant {
        self.slots[index(id)].arrival
    }

    /// Returns the packet behind another one that waits, of the same chain.
    #[inline]
    pub(super) fn behind(&self, id: StoreId) -> Option<&Waiting<T>> {
        let next = self.slots[index(id)].next?;
        Some(self.packet(StoreId(next.index())))
    }

    /// Appends a packet to a chain.
    #[inline]
    pub(super) fn append(&mut self, chain: &mut Chain, id: StoreId) {
        self.slots[index(chain.last)].next = Some(Link::to(id.0));
        chain.last = id;
    }

    /// Takes the first packet out of a chain that has others.
    #[inline]
    pub(super) fn advance(&self, chain: &mut Chain) {
        if let Some(next) = self.slots[index(chain.first)].next {
            chain.first = StoreId(next.index());
        }
    }

    /// The first segment of a packet leaves, and it is not the last one.
    #[inline]
    pub(super) fn next_segment(&mut self, id: StoreId) {
        self.slots[index(id)].packet.first += 1;
    }

    /// The last segment of a packet leaves.
    #[inline]
    pub(super) fn leave(&mut self, id: StoreId) {
        let slot = &mut self.slots[index(id)];
        slot.stage = Stage::Left;
        if slot.dropped == 0 {
            self.release(id);
        }
    }

    /// A segment of a packet is dropped. `last`: no other one remains.
    pub(super) fn drop_segment(&mut self, id: StoreId, bytes: u32, last: bool) {
        let slot = &mut self.slots[index(id)];
        if slot.dropped == 0 {
            let link = Some(Link::to(id.0));
            slot.next_dropped = None;
            match self.last_dropped {
                None => self.first_dropped = link,
                Some(last) => self.slots[last.index() as usize].next_dropped = link,
            }
            self.last_dropped = link;
        }
        let slot = &mut self.slots[index(id)];
        slot.dropped += 1;
        slot.dropped_bytes += bytes;
        if last {
            slot.stage = Stage::Dropped;
        }
    }

    /// Takes out the oldest report of dropped segments.
    #[inline]
    pub(super) fn pop_dropped(&mut self) -> Option<Dropped<T>> {
        let id = StoreId(self.first_dropped?.index());
        let slot = &mut self.slots[index(id)];
        self.first_dropped = slot.next_dropped;
        if self.first_dropped.is_none() {
            self.last_dropped = None;
        }
        let dropped = Dropped {
            id,
            segments: std::mem::take(&mut slot.dropped),
            bytes: std::mem::take(&mut slot.dropped_bytes),
            last: slot.stage == Stage::Dropped,
            tag: slot.packet.tag,
        };
        if slot.stage != Stage::Waiting {
            self.release(id);
        }
        Some(dropped)
    }

    /// Returns whether the owner knows of all that was dropped.
    #[inline]
    pub(super) const fn all_told(&self) -> bool {
        self.first_dropped.is_none()
    }

    #[inline]
    fn release(&mut self, id: StoreId) {
        let slot = &mut self.slots[index(id)];
        debug_assert!(slot.stage != Stage::Free && slot.dropped == 0);
        slot.stage = Stage::Free;
        slot.next = self.free;
        self.free = Some(Link::to(id.0));
    }
}
