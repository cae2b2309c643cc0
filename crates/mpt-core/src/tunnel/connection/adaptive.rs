//! Sending on a connection with adaptive mapping, where packets may wait in its queue.

use std::time::Instant;

use mpt_wire::tcp::acknowledgement::Acknowledgement;
use mpt_wire::tcp::mss;
use mpt_wire::{ecn, ip};

use super::members::member;
use super::sizes::SegmentSizes;
use super::{Connection, Envelope, Offer, Tally};
use crate::adaptive::{
    Adaptive, Kept, Lack, Leaving, QueueState, Queued, RepairCounters, Resend, Tag, Wants,
    flow_over, is_bulk,
};
use crate::path::{Estimate, Path, Paths, mtu};
use crate::queue::Waiting;
use crate::seal::Sealer;
use crate::tunnel::counters::Remarks;
use crate::tunnel::{InnerDrop, InnerPacket, Transmit};
use crate::{Mapping, PathId, RateBounds, Repair, StoreId};

impl<P: Copy> Connection<P> {
    /// Encapsulates packets as [`Self::encapsulate`] does, and puts those into the queue for which
    /// no path has room.
    pub(super) fn encapsulate_adaptive(
        &mut self,
        offer: Offer<'_, '_>,
        mtu: u16,
        flow_seed: u64,
        paths: &mut Paths,
        transmits: &mut Vec<Transmit>,
    ) -> Result<Envelope, InnerDrop> {
        let Offer { packet, now, queue_limit } = offer;
        let InnerPacket { bytes: ref mut packet, ref summary, checksum, segments, largest } =
            *packet;
        if self.scheduler.active_tier().is_none() {
            return Err(InnerDrop::NoPath);
        }
        let flow_hash = if self.hash_flows { summary.flow_hash(flow_seed) } else { 0 };
        let dscp = if self.copy_dscp { summary.tos } else { 0 };
        let outer_tos = ecn::encapsulate(summary.ecn(), self.ecn).with_tos(dscp);
        let sizes = SegmentSizes::new(summary, packet, segments, largest);
        if mss::clamp(packet, summary, mtu, checksum) {
            self.tally.remarks.mss_clamped += 1;
        }
        let protocol = summary.version.into();
        let header = self.header(protocol);
        let ipv6 = summary.version == ip::Version::V6;
        let protected = self.protects(now, summary, segments);
        let sealed = self.is_sealed();
        let Some(adaptive) = &mut self.tally.adaptive else { return Err(InnerDrop::NoPath) };

        let micros = adaptive.micros(now);
        let flow = || summary.flow_hash(flow_seed);
        let way = adaptive.way(micros, (summary, packet, sizes.of(0) as u32), sealed, flow);
        let urgent = !protected && segments == 1 && way.unordered;
        let tag = Tag { protocol, outer_tos, flow_hash, protected, urgent, way };
        let total = sizes.total() as u32;
        let kept = adaptive.is_keeping() && adaptive.make_room(total as usize, queue_limit / 2);
        let mut place = kept.then(|| adaptive.add(total, tag));
        let mut first = 0;
        let wants = Wants { ipv6, way, sparse: false };
        while first < segments && adaptive.is_free() {
            let (sequence, bytes) = (self.next_sequence, sizes.of(first));
            let Some(slot) = adaptive.leave(micros, sequence, bytes as u32, wants) else { break };
            // Nothing waits: the flow sends no more than the paths carry.
            let (not_ect, segment) = (is_bulk(bytes as u32), first);
            if let Some(path) = given(&self.slots, slot, bytes, paths) {
                transmits.push(Transmit { segment, path, sequence, mark: false, not_ect });
            }
            adaptive.copy(now, slot, sequence, bytes as u32, urgent, |other| {
                if let Some(path) = self.slots[usize::from(other)] {
                    let (mark, not_ect) = (false, true);
                    transmits.push(Transmit { segment, path, sequence, mark, not_ect });
                }
            });
            if let Some(place) = place {
                adaptive.keep(micros, sequence, place, (first, bytes as u32));
            }
            self.next_sequence = sequence.wrapping_add(1);
            self.sent.add(1, bytes);
            first += 1;
        }
        let mut waits = false;
        if first < segments {
            let acknowledges = Acknowledgement::of(packet, summary);
            let packet = *place.get_or_insert_with(|| adaptive.add(total, tag));
            let ect = matches!(summary.ecn(), ecn::Ecn::Ect0 | ecn::Ecn::Ect1);
            let largest = sizes.of(0) as u32;
            let tag = Queued { packet, tag };
            let flow = flow_over(flow(), way.only);
            let spreads = way.only.is_none();
            let waiting =
                Waiting { flow, segments, largest, total, first, ect, spreads, acknowledges, tag };
            let rest = u64::from(segments - first);
            // The owner keeps the whole super-packet until the last of its segments has left.
            if adaptive.waiting_bytes() + total as usize > queue_limit {
                self.tally.inner_drops.queue_memory += rest;
            } else {
                waits = adaptive.store(now, waiting);
                if !waits {
                    self.tally.inner_drops.queue_full += rest;
                }
            }
        }
        let stored = place.filter(|&place| waits || !adaptive.has_left(place));
        Ok(Envelope { header, outer_tos, flow_hash, stored, protected, at_once: way.at_once })
    }

    /// The next segments of one packet that leave: again, since they are lost, or out of the queue.
    /// They go to `transmits`; also gives the packet, and whether the owner forgets it.
    pub(crate) fn depart(
        &mut self,
        now: Instant,
        paths: &mut Paths,
        transmits: &mut Vec<Transmit>,
    ) -> Option<(StoreId, Envelope, bool)> {
        let sealed = self.is_sealed();
        let Tally { adaptive, sealer, remarks, .. } = &mut *self.tally;
        let adaptive = adaptive.as_mut()?;
        if let Some(sealer) = sealer {
            remarks.repair_differs += sealer.take_differing();
        }
        let can_repeat = |number| can_repeat(sealed, sealer.as_deref(), remarks, number);
        if let Some(Resend { number, kept, tag, slots }) = adaptive.take_repair(now, can_repeat) {
            for slot in slots {
                let Kept { segment, mark, bytes, .. } = kept;
                let not_ect = adaptive.is_looking(slot);
                if let Some(path) = given(&self.slots, slot, bytes.into(), paths) {
                    transmits.push(Transmit { segment, path, sequence: number, mark, not_ect });
                }
            }
            return Some((kept.packet, self.envelope_of(tag), false));
        }
        if let Some((packet, tag)) = adaptive.take_released(now) {
            return Some((packet, self.envelope_of(tag), true));
        }
        let mut departing: Option<Leaving> = None;
        while departing.is_none_or(|former| !former.last) {
            let same = |packet: StoreId| departing.is_none_or(|former| former.packet == packet);
            if !adaptive.next_packet(now).is_some_and(same) {
                break;
            }
            let sequence = self.next_sequence;
            let Some(leaving) = adaptive.take(now, sequence) else { break };
            let Leaving { segment, bytes, slot, mark, tag, .. } = leaving;
            let not_ect = is_bulk(bytes) && adaptive.is_looking(slot);
            if let Some(path) = given(&self.slots, slot, bytes.into(), paths) {
                transmits.push(Transmit { segment, path, sequence, mark, not_ect });
            }
            adaptive.copy(now, slot, sequence, bytes, tag.urgent, |other| {
                if let Some(path) = self.slots[usize::from(other)] {
                    transmits.push(Transmit { segment, path, sequence, mark, not_ect: true });
                }
            });
            self.next_sequence = sequence.wrapping_add(1);
            self.sent.add(1, u64::from(bytes));
            departing = Some(leaving);
        }
        let Leaving { packet, tag, released, .. } = departing?;
        if !transmits.is_empty() && !self.can_number(0) {
            // The keys went while it waited.
            self.tally.inner_drops.no_keys += transmits.len() as u64;
            transmits.clear();
        }
        Some((packet, self.envelope_of(tag), released))
    }

    /// The peer says what it misses. Returns whether this end repairs anything.
    pub(crate) fn handle_missing(&mut self, now: Instant, lack: &Lack<'_>) -> bool {
        let sealed = self.is_sealed();
        let Tally { adaptive, sealer, remarks, .. } = &mut *self.tally;
        let Some(adaptive) = adaptive else { return false };
        let mut can_repeat = |number| can_repeat(sealed, sealer.as_deref(), remarks, number);
        adaptive.handle_missing(now, lack, &mut can_repeat);
        true
    }

    /// The peer will not send these numbers again: first number and count.
    pub(crate) fn refuse(&mut self, now: Instant, ranges: impl Iterator<Item = (u32, u16)>) {
        let (Some(reorder), remarks) = (&mut self.reorder, &mut self.tally.remarks) else { return };
        for (first, count) in ranges {
            let within = reorder.refuse(now, first, count.into());
            if let Some(observer) = reorder.observer_mut() {
                observer.refuse(first, count.into());
            }
            remarks.refused_by_peer += u64::from(within);
            remarks.refusals_ignored += u64::from(u32::from(count) - within);
        }
    }

    fn envelope_of(&self, tag: Tag) -> Envelope {
        let Tag { protocol, outer_tos, flow_hash, protected, way, .. } = tag;
        let header = self.header(protocol);
        Envelope { header, outer_tos, flow_hash, stored: None, protected, at_once: way.at_once }
    }

    /// True once when something is missing after nothing was.
    #[inline]
    pub(crate) fn has_found_gap(&mut self) -> bool {
        let observer = self.reorder.as_mut().and_then(|reorder| reorder.observer_mut());
        observer.is_some_and(|observer| observer.take_found())
    }

    /// True once for each time that a path has fallen quiet.
    pub(crate) fn take_end_mark(&mut self, now: Instant) -> bool {
        self.tally.adaptive.as_mut().is_some_and(|adaptive| adaptive.take_end_mark(now))
    }

    /// Returns when something of this connection is due: a gap of its window, or a packet of its
    /// queue.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let reorder = self.reorder.as_ref().and_then(|reorder| reorder.next_timeout());
        let queue = self.tally.adaptive.as_ref().and_then(|adaptive| adaptive.next_departure());
        reorder.into_iter().chain(queue).chain(self.symbol_due()).min()
    }

    /// Returns what the sender has learnt of the paths at `now`; nothing where it does not learn.
    pub fn estimates(&self, now: Instant) -> impl Iterator<Item = (PathId, Estimate)> {
        let paths = self.tally.adaptive.iter().flat_map(move |adaptive| {
            let now = adaptive.micros(now);
            adaptive.paths().map(move |(slot, path)| (slot, path.model.estimate(now)))
        });
        paths.filter_map(|(slot, estimate)| Some((self.path_in(slot)?, estimate)))
    }

    /// Returns the path that flows keep to which are expected to be short, and the bytes up to which they end sooner
    /// over it alone. `None` where they have all paths.
    pub fn short_flows(&self) -> Option<(PathId, u64)> {
        // Only sealed packets say that they do not wait at the other end.
        let adaptive = self.tally.adaptive.as_ref().filter(|_| self.is_sealed())?;
        let (slot, bytes) = adaptive.short_flows()?;
        Some((self.path_in(slot.into())?, bytes))
    }

    /// Returns what waits in the queue of the connection; `None` where it has none.
    pub fn queue(&self) -> Option<QueueState> {
        self.tally.adaptive.as_ref().map(|adaptive| adaptive.queue_state())
    }

    /// Returns what was sent again over the paths, and what each has lost; nothing where nothing is
    /// repaired.
    pub fn repairs(&self) -> impl Iterator<Item = (PathId, RepairCounters)> {
        let paths = self.tally.adaptive.iter().flat_map(|adaptive| adaptive.paths());
        paths.filter_map(|(slot, path)| Some((self.path_in(slot)?, path.repairs)))
    }

    /// Returns how many numbers the peer was told will not be sent again; one that it was told of again
    /// counts again.
    pub fn refusals_told(&self) -> u64 {
        self.tally.adaptive.as_ref().map_or(0, |adaptive| adaptive.refusals_told())
    }

    /// Numbers that the peer has asked for again in vain: they are not kept, or were never sent.
    pub fn asked_in_vain(&self) -> u64 {
        self.tally.adaptive.as_ref().map_or(0, |adaptive| adaptive.asked_in_vain())
    }

    /// Returns the sender that learns, and tells it how much bulk has come from the peer. `None` with another mapping.
    pub(crate) fn learner(&mut self) -> Option<&mut Adaptive> {
        let adaptive = self.tally.adaptive.as_deref_mut()?;
        adaptive.hear(self.reorder.as_ref().map_or(0, |reorder| reorder.bulk()));
        Some(adaptive)
    }

    pub(super) fn set_member(&mut self, slot: usize, path: Option<&Path>) {
        self.scheduler.set(slot, path.map(member));
        if let Some(adaptive) = &mut self.tally.adaptive {
            let encapsulation = self.config.encapsulation();
            let overhead = path.map_or(0, |path| mtu::overhead(path.config.outer(), encapsulation));
            adaptive.set(slot, path.map(member), overhead.into());
            adaptive.set_bounds(slot, path.map_or(RateBounds::NONE, |path| path.config.rates));
        }
    }

    /// Begins to measure the paths, or ends it, as the mapping says. Packets that wait at this time are dropped.
    pub(crate) fn follow_mapping(&mut self, now: Instant, paths: &Paths) {
        let wanted = self.config.mapping == Mapping::Adaptive && self.config.numbers();
        if wanted == self.tally.adaptive.is_some() {
            self.follow_repair();
            return;
        }
        self.tally.adaptive = wanted.then(|| Box::new(Adaptive::new(now)));
        self.follow_repair();
        for id in self.slots.clone().into_iter().flatten() {
            if let Some(path) = paths.get(id) {
                self.set_member(usize::from(path.slot), Some(path));
            }
        }
    }

    /// Has what is lost sent again, or no longer, as the configuration says.
    pub(crate) fn follow_repair(&mut self) {
        if let Some(adaptive) = &mut self.tally.adaptive {
            adaptive.set_repair(self.config.repair != Repair::Off);
        }
    }
}

/// Counts a packet of `bytes` bytes for the path in a slot, and returns that path.
#[inline]
fn given(slots: &[Option<PathId>], slot: u16, bytes: u64, paths: &mut Paths) -> Option<PathId> {
    let id = slots[usize::from(slot)]?;
    if let Some(path) = paths.found_mut(id) {
        path.sent.add(1, bytes);
    }
    Some(id)
}

/// Returns true if the packet of a number can be sent again. Sealed packets cannot when their keys are gone.
fn can_repeat(sealed: bool, sealer: Option<&Sealer>, remarks: &mut Remarks, number: u32) -> bool {
    let can = !sealed || sealer.is_some_and(|sealer| sealer.can_repeat(number));
    remarks.repair_keys_gone += u64::from(!can);
    can
}
