//! A queue for packets from a device while the paths are the bottleneck: fair between flows and
//! short for each of them.
//!
//! It schedules as RFC 8290 does: flows are hashed into buckets, have turns of one quantum of bytes
//! each, and sparse flows go first. Four things differ:
//!
//! - It holds super-packets as they were read, and gives out their segments. Quantum, deficit and
//!   sparseness count the bytes of segments, and a drop or a mark concerns one segment.
//! - Bulk flows are told to send less by a law of their own instead of CoDel's
//!   (see [`FairQueue::set_target`]).
//! - Plain acknowledgements that have waited are dropped where the next packet says all that they do
//!   (`thinning.rs`).
//! - A queue over its bound in bytes drops segments of the flow with most bytes, as in section 4.1;
//!   one over its bound in packets drops a packet of the flow with most packets.
//!
//! The bytes stay with the owner: a packet has a [`StoreId`] from [`FairQueue::push`] on, until
//! [`FairQueue::pop`] or [`FairQueue::pop_dropped`] returns it with `last` set.

mod counters;
mod flows;
mod law;
mod link;
mod outcome;
mod packet;
mod pauses;
mod slots;
mod thinning;

use std::time::{Duration, Instant};

pub use counters::Counters;
pub use flows::{BUCKETS, QUANTUM};
pub use outcome::{Dropped, Full, Head, Left};
pub use packet::Waiting;

use flows::{By, Flows, List};
use law::Law;
use pauses::Pauses;
use slots::{Chain, Slots};

use crate::StoreId;

/// The bounds of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all segments that wait.
    pub bytes: usize,
    /// Places for packets and super-packets, at least 2. Each [`StoreId`] is below this number, and
    /// one is used for the first time only when all lower ones are taken. One place is kept free for
    /// the next packet, so at most one packet less than this waits.
    pub packets: usize,
}

/// A segment that was taken from the head of its flow.
struct Taken {
    id: StoreId,
    segment: u16,
    bytes: u32,
    /// It was the last one of its packet.
    last: bool,
    /// It had been chosen to be marked.
    mark: bool,
}

/// A fair queue (see the [module](self)); `T` is data of the owner that travels with each packet.
///
/// It allocates when more packets or flows wait than ever before, and gives memory back in
/// [`Self::shrink`]. Every operation takes constant time, except that drops at a bound look for the
/// fattest of up to [`BUCKETS`] flows.
#[derive(Clone, Debug)]
pub struct FairQueue<T> {
    limits: Limits,
    /// `None`: no flow is dropped from or marked except at the bounds.
    law: Option<Law>,
    /// The highest rate of late, in bytes per second; 0 while it is not known.
    best_rate: u64,
    pauses: Pauses,
    slots: Slots<T>,
    flows: Flows,
    bytes: usize,
    segments: usize,
    packets: usize,
    counters: Counters,
}

impl<T: Copy> FairQueue<T> {
    /// An empty queue without a sojourn bound. It allocates nothing yet.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            law: None,
            best_rate: 0,
            pauses: Pauses::new(),
            slots: Slots::new(),
            flows: Flows::new(),
            bytes: 0,
            segments: 0,
            packets: 0,
            counters: Counters {
                left: 0,
                left_bytes: 0,
                marked: 0,
                dropped: 0,
                dropped_bytes: 0,
                overflowed: 0,
                overflowed_bytes: 0,
                superseded: 0,
                cleared: 0,
                refused: 0,
            },
        }
    }

    /// Bounds the time that packets of bulk flows wait. Once the sojourn time of a flow's head has
    /// stayed above `target` for `interval`, one segment of it is dropped, or marked if its transport
    /// is ECN-capable, and then none for 1.5 x (`target` + sojourn time). Sparse flows are spared.
    ///
    /// `target` is about one round-trip time of the paths, `interval` the same but at least 50 ms.
    /// Both may change at any time. The law deviates from RFC 8289 on purpose; the reason stands
    /// above it, in `law.rs`.
    pub const fn set_target(&mut self, target: Duration, interval: Duration) {
        self.set_target_over(target, interval, target);
    }

    /// Does what [`Self::set_target`] does for senders that react to a signal only after `round_trip`,
    /// which is `target` or more: the next one is not due for 1.5 x (`round_trip` + sojourn time).
    pub const fn set_target_over(
        &mut self,
        target: Duration,
        interval: Duration,
        round_trip: Duration,
    ) {
        self.law = Some(Law { target, interval, round_trip });
    }

    /// Sets the highest rate of late at which packets have left, in bytes per second; 0 if it is not
    /// known. The wait of a flow that spreads over all paths ([`Waiting::spreads`]) counts only as far as
    /// what waits would take as long at this rate, so that a flow gets no drop for a rate that falls for a
    /// while. An eighth of it always counts.
    pub const fn set_best_rate(&mut self, rate: u64) {
        self.best_rate = rate;
    }

    /// Returns how long packets of a bulk flow wait at most that keeps to one path and takes notice of a
    /// drop. Zero without a bound.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        self.law.map_or(Duration::ZERO, |law| law.target + law.interval)
    }

    /// Adds a packet that was read at `now`, and returns the place where the owner keeps its bytes.
    ///
    /// Over a bound, segments are dropped from the head of the fattest flow until the bounds hold
    /// again. That may be the new packet itself: the owner stores it first and then empties
    /// [`Self::pop_dropped`].
    ///
    /// # Errors
    ///
    /// The packet is larger than the bound in bytes, or reports of dropped segments hold every place.
    #[inline]
    pub fn push(&mut self, now: Instant, packet: Waiting<T>) -> Result<StoreId, Full> {
        let packet = packet.checked();
        let (bytes, segments) = (packet.bytes() as usize, packet.segments());
        let fits = bytes <= self.limits.bytes && self.limits.packets >= 2;
        let id = fits.then(|| self.slots.insert(packet, now, self.limits.packets)).flatten();
        let Some(id) = id else {
            self.counters.refused += u64::from(segments);
            return Err(Full);
        };
        let index = self.flows.enter(packet.flow, id);
        let (flow, load) = self.flows.get_mut(index);
        if load.packets == 0 {
            flow.chain = Chain::of(id);
        } else {
            self.slots.append(&mut flow.chain, id);
        }
        flow.segments += u64::from(segments);
        load.bytes += bytes;
        load.packets += 1;
        self.bytes += bytes;
        self.segments += usize::from(segments);
        self.packets += 1;
        if self.bytes > self.limits.bytes || self.packets >= self.limits.packets {
            self.enforce_bounds();
        }
        Ok(id)
    }

    /// Returns the segment that leaves next, [`Self::pop`] being called with the same time and nothing in between. Segments that have to be dropped
    /// before it are dropped now, and a decision to mark it stays.
    #[inline]
    pub fn peek(&mut self, now: Instant) -> Option<Head<T>> {
        let (index, list) = self.next_flow(now)?;
        let id = self.flows.get(index).0.chain.first;
        let packet = self.slots.packet(id);
        Some(Head {
            flow: packet.flow,
            id,
            segment: packet.first,
            bytes: packet.first_bytes(),
            sparse: list == List::New,
            tag: packet.tag,
        })
    }

    /// Takes the next segment out of the queue. `None`: nothing waits. Afterwards the owner empties
    /// [`Self::pop_dropped`].
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<Left<T>> {
        let (index, list) = self.next_flow(now)?;
        let id = self.flows.get(index).0.chain.first;
        let (tag, arrival) = (self.slots.packet(id).tag, self.slots.arrival(id));
        let Taken { id, segment, bytes, last, mark } = self.take(index);
        if last {
            self.slots.leave(id);
        }
        self.flows.get_mut(index).0.deficit -= i64::from(bytes);
        if self.packets == 0 {
            self.forget_flows();
        }
        self.counters.left += 1;
        self.counters.left_bytes += u64::from(bytes);
        self.counters.marked += u64::from(mark);
        let waited = now.saturating_duration_since(arrival);
        Some(Left { id, segment, bytes, mark, last, sparse: list == List::New, tag, waited })
    }

    /// Lets the flow of the segment that [`Self::peek`] has shown go behind all others, since that segment cannot
    /// leave now.
    pub fn end_turn(&mut self) {
        if self.packets > 0 {
            self.flows.end_turn();
        }
    }

    /// Takes the next report of dropped segments. The owner asks after each [`Self::push`],
    /// [`Self::peek`] and [`Self::pop`] until it returns `None`: a place with a report is not free.
    #[inline]
    pub fn pop_dropped(&mut self) -> Option<Dropped<T>> {
        self.slots.pop_dropped()
    }

    /// Removes everything: all places are free, also those with reports, and the owner takes all
    /// packets out of its store.
    pub fn clear(&mut self) {
        self.counters.cleared += self.segments as u64;
        (self.bytes, self.segments, self.packets) = (0, 0, 0);
        (self.slots, self.flows, self.pauses) = (Slots::new(), Flows::new(), Pauses::new());
    }

    /// Gives the memory back if nothing waits and no report of dropped segments is left. The owner
    /// calls it when the queue has been empty for long.
    pub fn shrink(&mut self) {
        if self.is_empty() && self.slots.all_told() {
            (self.slots, self.flows, self.pauses) = (Slots::new(), Flows::new(), Pauses::new());
        }
    }

    /// Returns how long the first packet of the flow with most bytes has waited. `None`: nothing
    /// waits.
    #[must_use]
    pub fn sojourn(&self, now: Instant) -> Option<Duration> {
        let fattest = self.flows.fattest(By::Bytes)?;
        let head = self.flows.get(fattest).0.chain.first;
        Some(now.saturating_duration_since(self.slots.arrival(head)))
    }

    /// Returns the bytes of all segments that wait.
    #[inline]
    #[must_use]
    pub const fn len_bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of segments that wait.
    #[inline]
    #[must_use]
    pub const fn len_segments(&self) -> usize {
        self.segments
    }

    /// Returns the number of packets and super-packets of which segments wait.
    #[inline]
    #[must_use]
    pub const fn len_packets(&self) -> usize {
        self.packets
    }

    /// Returns whether nothing waits.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Returns the number of flows of which segments wait, at most [`BUCKETS`].
    #[must_use]
    pub fn flows(&self) -> usize {
        self.flows.waiting()
    }

    /// Returns the bytes of one flow that wait.
    #[inline]
    #[must_use]
    pub fn bytes_of(&self, flow: u64) -> usize {
        self.flows.bytes_of(flow)
    }

    /// Returns the bounds.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns what became of the segments so far.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Finds the flow that sends next (RFC 8290 section 4.2) and applies the law to it. At least one
    /// segment of it waits.
    #[inline]
    fn next_flow(&mut self, now: Instant) -> Option<(u16, List)> {
        if self.packets == 0 {
            return None;
        }
        loop {
            let (index, list) = self.flows.head()?;
            let (flow, load) = self.flows.get_mut(index);
            if flow.deficit <= 0 {
                flow.deficit += i64::from(QUANTUM);
                self.flows.end_turn();
            } else if load.packets > 0 {
                self.thin(index, now);
                if list == List::Old {
                    self.apply_law(index, now);
                }
                return Some((index, list));
            } else if list == List::New {
                self.flows.end_turn();
            } else {
                self.flows.retire();
            }
        }
    }

    /// Drops or marks the first segment of a bulk flow if the law says so. Another one remains.
    #[inline]
    fn apply_law(&mut self, index: u16, now: Instant) {
        let Some(law) = self.law else { return };
        let (flow, load) = self.flows.get_mut(index);
        if flow.segments <= 1 {
            flow.standing.relax();
            return;
        }
        let head = flow.chain.first;
        let sojourn = now.saturating_duration_since(self.slots.arrival(head));
        let may_count_less = sojourn > law.target && self.slots.packet(head).spreads;
        let counts = match may_count_less {
            true => law::counted(sojourn, self.bytes, self.best_rate),
            false => sojourn,
        };
        if !flow.standing.is_due(law, now, counts)
            || !self.pauses.begin(load.bucket, law, now, sojourn)
        {
            return;
        }
        if self.slots.packet(head).ect {
            flow.mark = true;
        } else {
            let bytes = self.drop_segment(index);
            self.counters.dropped += 1;
            self.counters.dropped_bytes += u64::from(bytes);
        }
    }

    #[cold]
    fn enforce_bounds(&mut self) {
        while self.packets >= self.limits.packets {
            let Some(fattest) = self.flows.fattest(By::Packets) else { return };
            let waiting = self.packets;
            while self.packets == waiting {
                self.overflow(fattest);
            }
        }
        while self.bytes > self.limits.bytes {
            let Some(fattest) = self.flows.fattest(By::Bytes) else { return };
            self.overflow(fattest);
        }
    }

    fn overflow(&mut self, index: u16) {
        let bytes = self.drop_segment(index);
        self.counters.overflowed += 1;
        self.counters.overflowed_bytes += u64::from(bytes);
    }

    /// Drops the first segment of a flow and returns its bytes.
    fn drop_segment(&mut self, index: u16) -> u32 {
        let Taken { id, bytes, last, .. } = self.take(index);
        self.slots.drop_segment(id, bytes, last);
        bytes
    }

    /// Takes the first segment from a flow that has one. The place of its packet is not released yet.
    #[inline]
    fn take(&mut self, index: u16) -> Taken {
        let (flow, load) = self.flows.get_mut(index);
        let id = flow.chain.first;
        let packet = self.slots.packet(id);
        let (segment, bytes, last) = (packet.first, packet.first_bytes(), packet.is_last());
        if last {
            self.slots.advance(&mut flow.chain);
            load.packets -= 1;
            self.packets -= 1;
        } else {
            self.slots.next_segment(id);
        }
        flow.segments -= 1;
        load.bytes -= bytes as usize;
        self.segments -= 1;
        self.bytes -= bytes as usize;
        Taken { id, segment, bytes, last, mark: std::mem::take(&mut flow.mark) }
    }

    /// Removes all flows, none of which has packets: the next packet of each finds a new one.
    fn forget_flows(&mut self) {
        while self.flows.head().is_some() {
            self.flows.retire();
        }
    }
}
