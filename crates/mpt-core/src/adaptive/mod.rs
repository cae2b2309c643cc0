//! The sending side of a connection with [`Mapping::Adaptive`](crate::Mapping::Adaptive): each path is
//! given what it is known to carry, the shortest first, and what none has room for waits in a queue.
//!
//! ```text
//! packet ─► has a path credit? ─► yes: number, log, pacer ─► leaves now
//!                └► no: queue (fair between flows) ─► as soon as a path has credit
//! reports of the peer ─► model of each path ─► rate of its pacer, order of the paths
//! ```
//!
//! `docs/adaptive.md` has the rules and the experiments that show each of them to be needed.

mod choice;
mod log;
mod pacer;
mod path;
mod report;
mod role;

use std::time::{Duration, Instant};

use mpt_wire::gre;
use smallvec::SmallVec;

use self::log::SentLog;
use self::path::Sender;
pub(crate) use self::report::{Arrived, PeerReport, Received};
use crate::StoreId;
use crate::queue::{Counters, FairQueue, Limits, Waiting};
use crate::scheduler::Member;

/// Bytes and packets that wait for credit at the most. The bound in time is the queue's target.
const LIMITS: Limits = Limits { bytes: 16 << 20, packets: 4_096 };
/// The shortest interval after which a flow is asked to send less.
const LEAST_INTERVAL: Duration = Duration::from_millis(50);
/// Smaller packets are not copied: they are hardly bulk.
const LEAST_COPIED: u32 = 500;
/// Time after which it is tried again, in microseconds: a timer that is due at once would be due for ever.
const AFTER_REFUSAL: i64 = 100;
/// Without any report for so long, in microseconds, the peer is taken not to make any.
const SILENCE: i64 = 1_500_000;

/// What the queue keeps of a packet besides its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    pub(crate) protocol: gre::Protocol,
    pub(crate) outer_tos: u8,
    pub(crate) flow_hash: u64,
}

/// A segment that leaves the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) packet: StoreId,
    pub(crate) segment: u16,
    pub(crate) bytes: u32,
    pub(crate) slot: u16,
    pub(crate) mark: bool,
    pub(crate) last: bool,
    pub(crate) tag: Tag,
}

/// The queue of an adaptive connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Bytes that wait, inner headers included.
    pub bytes: usize,
    /// Packets that wait, each segment of a super-packet by itself.
    pub segments: usize,
    /// Flows that they belong to.
    pub flows: usize,
    /// What has become of packets that waited.
    pub counters: Counters,
}

/// The sender of one connection. Times inside are microseconds since its making.
#[derive(Debug)]
pub(crate) struct Adaptive {
    origin: Instant,
    queue: FairQueue<Tag>,
    log: SentLog,
    /// By slot.
    paths: Vec<Option<Sender>>,
    /// The slots that carry data, the shortest path first.
    order: SmallVec<[u16; 4]>,
    /// Paths in `order` that carry bulk.
    bulk: usize,
    /// Some path is not in full use.
    trying: bool,
    peer: report::Peer,
    /// When the oldest packet left that no report has followed.
    unreported: Option<i64>,
    /// Packets given out since [`Self::take_sent`].
    sent: u32,
    /// The session looks seldom: it wants to know of the next packet.
    idle: bool,
    /// When no path took what comes first in the queue.
    refused_at: i64,
    /// Anchors up to then were given out.
    told: i64,
}

impl Adaptive {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            origin: now,
            queue: FairQueue::new(LIMITS),
            log: SentLog::default(),
            paths: Vec::new(),
            order: SmallVec::new(),
            bulk: 0,
            trying: true,
            peer: report::Peer::default(),
            unreported: None,
            sent: 0,
            idle: true,
            refused_at: -AFTER_REFUSAL,
            told: 0,
        }
    }

    fn micros(&self, now: Instant) -> i64 {
        now.saturating_duration_since(self.origin).as_micros() as i64
    }

    /// The moment of a time of [`Self::micros`].
    pub(crate) fn instant(&self, micros: i64) -> Instant {
        self.origin + Duration::from_micros(micros.max(0).unsigned_abs())
    }

    /// Puts a path into a slot, changes it, or takes it out. `overhead`: bytes around inner packets.
    pub(crate) fn set(&mut self, slot: usize, member: Option<Member>, overhead: u32) {
        if self.paths.len() <= slot {
            self.paths.resize(slot + 1, None);
        }
        match (&mut self.paths[slot], member) {
            (Some(path), Some(member)) => (path.member, path.overhead) = (member, overhead),
            (path, member) => *path = member.map(|member| Sender::new(member, overhead, true)),
        }
        self.reorder_paths();
    }

    /// Sets what carries IPv6.
    pub(crate) fn set_ipv6(&mut self, slot: usize, ipv6: bool) {
        if let Some(Some(path)) = self.paths.get_mut(slot) {
            path.ipv6 = ipv6;
        }
    }

    /// The round-trip time of a path by its probes: the least one, without what they waited in queues,
    /// and the usual one.
    pub(crate) fn set_rtt(&mut self, slot: usize, least: Duration, usual: Duration) {
        if let Some(Some(path)) = self.paths.get_mut(slot) {
            path.model.set_rtt(least.as_micros() as f64);
            path.usual_rtt = usual.as_micros() as f64;
            self.reorder_paths();
        }
    }

    /// The paths, by slot, to be looked at.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (usize, &Sender)> {
        self.paths.iter().enumerate().filter_map(|(slot, path)| Some((slot, path.as_ref()?)))
    }

    /// True if a packet may leave without waiting behind another one.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.queue.is_empty()
    }

    /// Gives a packet of `bytes` its path, if one has credit, and logs it under `number`.
    #[inline]
    pub(crate) fn leave(
        &mut self,
        now: Instant,
        number: u32,
        bytes: u32,
        ipv6: bool,
    ) -> Option<u16> {
        let now = self.micros(now);
        let slot = self.choose(now, ipv6, false)?;
        self.give(now, slot, number, bytes);
        Some(slot)
    }

    /// Gives copies of a packet of `bytes` bytes that has just left over `slot` to the paths that are
    /// tried.
    #[inline]
    pub(crate) fn copy(
        &mut self,
        now: Instant,
        slot: u16,
        number: u32,
        bytes: u32,
        given: impl FnMut(u16),
    ) {
        if self.trying && bytes >= LEAST_COPIED {
            self.copy_over_tried(now, slot, number, bytes, given);
        }
    }

    #[cold]
    fn copy_over_tried(
        &mut self,
        now: Instant,
        slot: u16,
        number: u32,
        bytes: u32,
        mut given: impl FnMut(u16),
    ) {
        let now = self.micros(now);
        for &other in &self.order {
            let Some(Some(path)) = self.paths.get_mut(usize::from(other)) else { continue };
            if other != slot && path.wants_copy(now, number) {
                path.copied = now;
                let (before, size) = path.give(now, other, number, bytes);
                path.copies.note(number, size, before);
                given(other);
            }
        }
    }

    fn give(&mut self, now: i64, slot: u16, number: u32, bytes: u32) {
        let Some(Some(path)) = self.paths.get_mut(usize::from(slot)) else { return };
        let (before, size) = path.give(now, slot, number, bytes);
        self.log.note(number, size, before);
        self.sent = self.sent.saturating_add(1);
        self.unreported.get_or_insert(now);
    }

    /// Takes a packet whose segments do not leave now into the queue. Gives the place where the owner
    /// keeps it; `None` if it is dropped.
    pub(crate) fn store(&mut self, now: Instant, packet: Waiting<Tag>) -> Option<StoreId> {
        self.queue.push(now, packet).ok()
    }

    /// The next segment that leaves the queue, if a path has credit for it.
    pub(crate) fn take(&mut self, now: Instant, number: u32) -> Option<Leaving> {
        let head = self.queue.peek(now)?;
        let ipv6 = head.tag.protocol == gre::Protocol::IPV6;
        let micros = self.micros(now);
        let Some(slot) = self.choose(micros, ipv6, head.sparse) else {
            self.refused_at = micros;
            return None;
        };
        let left = self.queue.pop(now)?;
        self.give(micros, slot, number, left.bytes);
        Some(Leaving {
            packet: left.id,
            segment: left.segment,
            bytes: left.bytes,
            slot,
            mark: left.mark,
            last: left.last,
            tag: left.tag,
        })
    }

    /// The packet whose segment would leave next.
    pub(crate) fn next_packet(&mut self, now: Instant) -> Option<StoreId> {
        self.queue.peek(now).map(|head| head.id)
    }

    /// A packet of which the queue has dropped the rest.
    pub(crate) fn take_dropped(&mut self) -> Option<(StoreId, Tag)> {
        while let Some(dropped) = self.queue.pop_dropped() {
            if dropped.last {
                return Some((dropped.id, dropped.tag));
            }
        }
        None
    }

    /// When a segment may leave the queue; `None` while it is empty.
    pub(crate) fn next_departure(&self) -> Option<Instant> {
        if self.queue.is_empty() {
            return None;
        }
        let next = self.next_credit();
        // A path may have credit and not carry what comes first: the others' time comes soon enough.
        next.map(|at| self.instant(at.max(self.refused_at + AFTER_REFUSAL)))
    }

    /// Bytes that wait, inner headers included.
    #[inline]
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.queue.len_bytes()
    }

    /// What waits, and what has become of what waited.
    pub(crate) fn queue_state(&self) -> QueueState {
        let (bytes, segments) = (self.queue.len_bytes(), self.queue.len_segments());
        QueueState { bytes, segments, flows: self.queue.flows(), counters: self.queue.counters() }
    }

    /// Packets given out since the last call, and since the last report of the peer.
    pub(crate) fn take_sent(&mut self) -> u32 {
        self.idle = self.sent == 0;
        std::mem::take(&mut self.sent)
    }

    /// True once when packets leave after a pause.
    #[inline]
    pub(crate) fn take_resumed(&mut self) -> bool {
        self.idle && self.sent > 0 && std::mem::take(&mut self.idle)
    }

    /// Stamps for the peer: numbers, and when they left.
    pub(crate) fn take_anchors(&mut self, most: usize) -> SmallVec<[(u32, Instant); 16]> {
        let from = self.told;
        let anchors: SmallVec<[(u32, i64); 16]> = self.log.anchors(from, most).collect();
        if let Some(&(_, latest)) = anchors.first() {
            // Those of the last batch once more: it may have grown, and the message may be lost.
            self.told = latest;
        }
        anchors.into_iter().map(|(number, at)| (number, self.instant(at))).collect()
    }

    /// What the paths were given: slot, last number, packets.
    pub(crate) fn sent_up_to(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        self.paths().filter_map(|(slot, path)| Some((slot, path.last?, path.packets)))
    }

    /// Sets how long packets may wait by what the paths need: about one round-trip time.
    fn set_target(&mut self) {
        let rtt = self.order.iter().filter_map(|&slot| self.paths[usize::from(slot)].as_ref());
        let rtt = rtt.map(|path| path.model.rtt()).fold(0.0, f64::max);
        let target = Duration::from_micros(rtt as u64);
        self.queue.set_target(target, target.max(LEAST_INTERVAL));
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    /// The first packet needs a path that has no credit, while another path has some.
    #[test]
    fn what_no_path_with_credit_carries_does_not_keep_the_timer_due() {
        let start = Instant::now();
        let mut adaptive = Adaptive::new(start);
        for slot in 0..2 {
            let member = Member { weight: 1, tier: 0, up: true, identity: slot as u64 };
            adaptive.set(slot, Some(member), 36);
        }
        adaptive.set_ipv6(0, false);
        adaptive.set_ipv6(1, false);
        let tag = Tag { protocol: gre::Protocol::IPV6, outer_tos: 0, flow_hash: 1 };
        let packet = Waiting {
            flow: 1,
            segments: 1,
            largest: 1_400,
            total: 1_400,
            first: 0,
            ect: false,
            tag,
        };
        adaptive.store(start, packet).expect("room");
        let now = start + Duration::from_millis(1);
        assert!(adaptive.take(now, 0).is_none());
        assert!(adaptive.next_departure().is_some_and(|at| at > now));
    }
}
