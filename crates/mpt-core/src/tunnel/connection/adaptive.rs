//! What a connection with adaptive mapping does otherwise: packets may wait in its queue.

use std::time::Instant;

use mpt_wire::mss;
use mpt_wire::{ecn, gre, ip};

use super::sizes::SegmentSizes;
use super::{Connection, Envelope, Inner, member};
use crate::adaptive::{Adaptive, Leaving, QueueState, Tag};
use crate::path::{Estimate, Path, Paths, mtu};
use crate::queue::Waiting;
use crate::tunnel::{InnerDrop, Transmit};
use crate::{Mapping, PathId, StoreId};

impl<P: Copy> Connection<P> {
    /// As [`Self::encapsulate`], with what no path has room for put into the queue.
    pub(super) fn encapsulate_adaptive(
        &mut self,
        now: Instant,
        inner: Inner<'_>,
        mtu: u16,
        flow_seed: u64,
        paths: &mut Paths,
        transmits: &mut Vec<Transmit>,
    ) -> Result<Envelope, InnerDrop> {
        let Inner { summary, packet, checksum, segments, largest, queue_limit, .. } = inner;
        if self.scheduler.active_tier().is_none() {
            return Err(InnerDrop::NoPath);
        }
        let flow_hash = summary.flow_hash(flow_seed);
        let dscp = if self.copy_dscp { summary.tos } else { 0 };
        let outer_tos = ecn::encapsulate(summary.ecn(), self.ecn).with_tos(dscp);
        let sizes = SegmentSizes::new(summary, packet, segments, largest);
        if mss::clamp(packet, summary, mtu, checksum) {
            self.tally.remarks.mss_clamped += 1;
        }
        let gre = self.gre(summary.version.into());
        let ipv6 = summary.version == ip::Version::V6;
        let mut envelope = Envelope { gre, outer_tos, flow_hash, stored: None };
        let Some(adaptive) = &mut self.tally.adaptive else { return Err(InnerDrop::NoPath) };

        let mut first = 0;
        while first < segments && adaptive.is_free() {
            let (sequence, bytes) = (self.next_sequence, sizes.of(first));
            let Some(slot) = adaptive.leave(now, sequence, bytes as u32, ipv6) else { break };
            let id = self.slots[usize::from(slot)];
            if let Some(path) = paths.at_mut(id) {
                path.sent.add(1, bytes);
            }
            transmits.push(Transmit { segment: first, path: id, sequence, mark: false });
            adaptive.copy(now, slot, sequence, bytes as u32, |other| {
                let path = self.slots[usize::from(other)];
                transmits.push(Transmit { segment: first, path, sequence, mark: false });
            });
            self.next_sequence = sequence.wrapping_add(1);
            self.sent.add(1, bytes);
            first += 1;
        }
        if first < segments {
            let tag = Tag { protocol: gre.protocol, outer_tos, flow_hash };
            let total = sizes.total() as u32;
            let ect = matches!(summary.ecn(), ecn::Ecn::Ect0 | ecn::Ecn::Ect1);
            let largest = sizes.of(0) as u32;
            let waiting = Waiting { flow: flow_hash, segments, largest, total, first, ect, tag };
            let rest = u64::from(segments - first);
            // The owner keeps the whole super-packet until the last of its segments has left.
            if adaptive.waiting_bytes() + sizes.total() as usize > queue_limit {
                self.tally.inner_drops.queue_memory += rest;
            } else {
                envelope.stored = adaptive.store(now, waiting);
                if envelope.stored.is_none() {
                    self.tally.inner_drops.queue_full += rest;
                }
            }
        }
        Ok(envelope)
    }

    /// The next segments of one packet that leave the queue. They go to `transmits`; also gives the
    /// packet, and whether nothing of it is left.
    pub(crate) fn depart(
        &mut self,
        now: Instant,
        paths: &mut Paths,
        transmits: &mut Vec<Transmit>,
    ) -> Option<(StoreId, Envelope, bool)> {
        let adaptive = self.tally.adaptive.as_mut()?;
        let mut departing: Option<(StoreId, Tag, bool)> =
            adaptive.take_dropped().map(|(packet, tag)| (packet, tag, true));
        while departing.is_none_or(|(_, _, last)| !last) {
            let same = |packet: StoreId| departing.is_none_or(|(other, ..)| other == packet);
            if !adaptive.next_packet(now).is_some_and(same) {
                break;
            }
            let sequence = self.next_sequence;
            let Some(leaving) = adaptive.take(now, sequence) else { break };
            let Leaving { packet, segment, bytes, slot, mark, last, tag } = leaving;
            let id = self.slots[usize::from(slot)];
            if let Some(path) = paths.at_mut(id) {
                path.sent.add(1, u64::from(bytes));
            }
            transmits.push(Transmit { segment, path: id, sequence, mark });
            adaptive.copy(now, slot, sequence, bytes, |other| {
                let path = self.slots[usize::from(other)];
                transmits.push(Transmit { segment, path, sequence, mark });
            });
            self.next_sequence = sequence.wrapping_add(1);
            self.sent.add(1, u64::from(bytes));
            departing = Some((packet, tag, last));
        }
        let (packet, tag, released) = departing?;
        let Tag { protocol, outer_tos, flow_hash } = tag;
        let gre = self.gre(protocol);
        Some((packet, Envelope { gre, outer_tos, flow_hash, stored: None }, released))
    }

    /// When something of this connection is due: a gap of its window, or a packet of its queue.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let reorder = self.reorder.as_ref().and_then(|reorder| reorder.next_timeout());
        let queue = self.tally.adaptive.as_ref().and_then(|adaptive| adaptive.next_departure());
        reorder.into_iter().chain(queue).min()
    }

    /// What the sender has learnt of the paths; nothing where it does not learn.
    pub fn estimates(&self) -> impl Iterator<Item = (PathId, Estimate)> {
        let paths = self.tally.adaptive.iter().flat_map(|adaptive| adaptive.paths());
        paths.filter_map(|(slot, path)| Some((*self.slots.get(slot)?, path.model.estimate())))
    }

    /// What waits in the queue of the connection; `None` where it has none.
    pub fn queue(&self) -> Option<QueueState> {
        self.tally.adaptive.as_ref().map(|adaptive| adaptive.queue_state())
    }

    pub(super) fn set_member(&mut self, slot: usize, path: Option<&Path>) {
        self.scheduler.set(slot, path.map(member));
        if let Some(adaptive) = &mut self.tally.adaptive {
            let header = self.config.gre(gre::Protocol::IPV4).header_len() as u16;
            let overhead = path.map_or(0, |path| mtu::overhead(path.config.outer(), header));
            adaptive.set(slot, path.map(member), overhead.into());
        }
    }

    /// Begins to measure the paths, or ends it, as the mapping says. Gives back what waits there.
    pub(crate) fn follow_mapping(&mut self, now: Instant, paths: &Paths) {
        let wanted = self.config.mapping == Mapping::Adaptive && self.config.numbers();
        if wanted == self.tally.adaptive.is_some() {
            return;
        }
        self.tally.adaptive = wanted.then(|| Box::new(Adaptive::new(now)));
        for id in self.slots.clone() {
            if let Some(path) = paths.at(id) {
                self.set_member(usize::from(path.slot), Some(path));
            }
        }
    }
}
