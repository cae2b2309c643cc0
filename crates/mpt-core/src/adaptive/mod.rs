//! The sending side of a connection with [`Mapping::Adaptive`](crate::Mapping::Adaptive). Each
//! path, the shortest first, is given as much as it is known to carry. Packets for which no path
//! has room wait in a queue.
//!
//! ```text
//! packet ─► has a path credit? ─► yes: number, log, pacer ─► leaves now
//!                └► no: queue (fair between flows) ─► as soon as a path has credit
//! reports of the peer ─► model of each path ─► rate of its pacer, order of the paths
//! ```
//!
//! `docs/adaptive.md` has the rules, and the reasons for them.

mod alone;
mod bulk;
mod choice;
mod confined;
mod flow_table;
mod load;
mod log;
mod pacer;
mod path;
mod peer;
mod reach;
mod repair;
mod report;
mod role;
mod set;
mod short;
mod silence;
mod surveyed;
mod symbols;
mod tag;
mod target;
mod unordered;
mod wants;

use std::time::{Duration, Instant};

use smallvec::SmallVec;

pub(crate) use self::confined::flow_over;
use self::log::SentLog;
pub use self::path::RepairCounters;
use self::path::{Role, Sender};
use self::peer::Peer;
use self::reach::Reach;
pub(crate) use self::repair::keep::Kept;
use self::repair::keep::{Keeper, MOST_BYTES};
use self::repair::state::Repairs;
pub(crate) use self::repair::{Lack, Resend};
pub(crate) use self::repair::{QUICK, held};
pub(crate) use self::report::{Arrived, PeerReport, Received};
use self::short::ShortFlows;
use self::silence::Silence;
pub(crate) use self::surveyed::Surveyed;
pub(crate) use self::tag::{Queued, Tag, Way};
use self::unordered::UnorderedFlows;
pub(crate) use self::wants::Wants;
use crate::path::model::observed::window::Recent;
use crate::queue::{Counters, FairQueue, Left, Limits, Waiting};
use crate::scheduler::Member;
use crate::session::RttEstimate;
use crate::{RateBounds, StoreId};

/// The most bytes and packets that wait for credit. The queue's target bounds the time.
const LIMITS: Limits = Limits { bytes: 16 << 20, packets: 4_096 };
/// The shortest time for which the greatest rate of all paths counts, in microseconds. A window that
/// was right before the rate fell is kept for so long.
const CARRIED_FOR: i64 = 3_000_000;
/// Paths count as equally long where their delays differ by no more than this, in microseconds.
const ALIKE: f64 = 4_000.0;
/// The bytes of a packet from which on it may belong to a bulk flow. Voice and the keys of a remote shell
/// have fewer.
const LEAST_BULK: u32 = 500;
/// Time after which a packet that no path took is tried again, in microseconds. A timer that is due
/// at once would be due for ever.
const AFTER_REFUSAL: i64 = 100;

/// A segment that leaves the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) packet: StoreId,
    pub(crate) segment: u16,
    pub(crate) bytes: u32,
    pub(crate) slot: u16,
    pub(crate) mark: bool,
    /// True if no segment of the packet waits any more.
    pub(crate) last: bool,
    /// True if nothing of the packet is kept either, so that the owner forgets it.
    pub(crate) released: bool,
    pub(crate) tag: Tag,
}

/// A number with the time at which it left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    pub(crate) number: u32,
    pub(crate) left: Instant,
    /// The time that it had waited in the queue.
    pub(crate) waited: Duration,
}

/// The queue of an adaptive connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// The bytes that wait, inner headers included.
    pub bytes: usize,
    /// Packets that wait, each segment of a super-packet by itself.
    pub segments: usize,
    /// Flows to which the waiting packets belong.
    pub flows: usize,
    /// Bytes of sent packets that are kept, since they may have to be sent again.
    pub kept_bytes: usize,
    /// True if the owner keeps packets of this connection.
    pub holds_any: bool,
    /// The counters of packets that have waited.
    pub counters: Counters,
}

/// Returns true if a packet of `bytes` inner bytes is large enough to belong to a bulk flow.
#[must_use]
pub const fn is_bulk(bytes: u32) -> bool {
    bytes >= LEAST_BULK
}

/// The sender of one connection. Its times are microseconds since it was made.
#[derive(Debug)]
pub(crate) struct Adaptive {
    origin: Instant,
    queue: FairQueue<Queued>,
    log: SentLog,
    /// By slot.
    paths: Vec<Option<Sender>>,
    /// The slots that carry data, the shortest path first.
    order: SmallVec<[u16; 4]>,
    /// Paths in `order` that carry bulk.
    bulk: usize,
    /// True while some path is on trial.
    trying: bool,
    /// The choice of the paths whose round-trip time the flows can afford.
    reach: Reach,
    short: ShortFlows,
    unordered: UnorderedFlows,
    /// True if paths that carry bulk differ in their length.
    differ: bool,
    /// The time at which one of the paths has credit that all waiting packets are confined to. `None`: others wait, too.
    confined_until: Option<i64>,
    peer: Peer,
    /// The silence of a peer that sends no reports.
    silence: Silence,
    /// Packets sent since [`Self::take_sent`].
    sent: u32,
    /// True while the session looks seldom, and wants to know of the next packet.
    idle: bool,
    /// The time at which no path took the first packet of the queue, if that ever happened.
    refused_at: Option<i64>,
    /// The times up to which the last message but one and the last one had anchors.
    told: (i64, i64),
    /// The greatest rate of all paths together in the last seconds, in bytes per microsecond.
    carried: Recent,
    keeper: Keeper,
    repairs: Repairs,
    /// The number after the highest one sent.
    next_number: u32,
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
            reach: Reach::default(),
            short: ShortFlows::default(),
            unordered: UnorderedFlows::default(),
            differ: false,
            confined_until: None,
            peer: Peer::default(),
            silence: Silence::default(),
            sent: 0,
            idle: true,
            refused_at: None,
            told: (0, 0),
            carried: Recent::greatest(CARRIED_FOR),
            keeper: Keeper::default(),
            repairs: Repairs::default(),
            next_number: 0,
        }
    }

    pub(crate) fn micros(&self, now: Instant) -> i64 {
        now.saturating_duration_since(self.origin).as_micros() as i64
    }

    /// Returns the instant of a time of [`Self::micros`].
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
            (path, member) => {
                *path = member.map(|member| Sender::new(member, overhead));
                // Nothing that left over the path before, or came on it, concerns the next one.
                self.log.forget_path(slot as u16);
                self.repairs.forget_path(slot as u16);
                self.peer.forget_path(slot);
            }
        }
        self.reorder_paths();
    }

    /// Sets whether a path carries IPv6.
    pub(crate) fn set_ipv6(&mut self, slot: usize, ipv6: bool) {
        if let Some(Some(path)) = self.paths.get_mut(slot) {
            path.ipv6 = ipv6;
        }
    }

    /// Sets the bounds of the rate that is learnt of a path.
    pub(crate) fn set_bounds(&mut self, slot: usize, bounds: RateBounds) {
        if let Some(Some(path)) = self.paths.get_mut(slot) {
            path.model.set_bounds(bounds);
        }
    }

    /// Takes the round-trip time of a path that its probes have measured.
    pub(crate) fn set_rtt(&mut self, slot: usize, rtt: RttEstimate) {
        if let Some(Some(path)) = self.paths.get_mut(slot) {
            path.set_rtt(rtt);
            self.reorder_paths();
        }
    }

    /// Returns the paths with their slots.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (usize, &Sender)> {
        self.paths.iter().enumerate().filter_map(|(slot, path)| Some((slot, path.as_ref()?)))
    }

    /// Returns the paths that carry data with their slots, the shortest first.
    fn ordered(&self) -> impl Iterator<Item = (u16, &Sender)> {
        self.order.iter().filter_map(|&slot| Some((slot, self.path_at(slot)?)))
    }

    /// Returns the path in a slot, if there is one.
    #[inline]
    fn path_at(&self, slot: u16) -> Option<&Sender> {
        self.paths.get(usize::from(slot))?.as_ref()
    }

    /// Returns true if a packet may leave without waiting behind another one.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.queue.is_empty()
    }

    /// Gives a packet of `bytes` its path, if one has credit, and logs the packet under `number`.
    /// `now` is in the microseconds of [`Self::micros`].
    #[inline]
    pub(crate) fn leave(&mut self, now: i64, number: u32, bytes: u32, wants: Wants) -> Option<u16> {
        let slot = self.choose(now, wants)?;
        self.give(now, slot, number, (bytes, wants.way), 0);
        Some(slot)
    }

    /// Returns true while a path has shown no bottleneck, and its rate grows to find one.
    #[inline]
    pub(crate) fn is_looking(&self, slot: u16) -> bool {
        self.path_at(slot).is_some_and(|path| !path.model.is_bottleneck())
    }

    /// Sends copies of a packet of `bytes` bytes that has just left over `slot` over the paths on
    /// trial, or where it is `urgent` and lossy paths are repaired, over a second path.
    #[inline]
    pub(crate) fn copy(
        &mut self,
        now: Instant,
        slot: u16,
        number: u32,
        bytes: u32,
        urgent: bool,
        given: impl FnMut(u16),
    ) {
        if self.trying && is_bulk(bytes) {
            self.copy_over_tried(now, slot, number, bytes, given);
        } else if urgent && !is_bulk(bytes) && self.repairs.keeping {
            self.copy_urgent(now, slot, number, bytes, given);
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
        let (now, waited) = (self.micros(now), self.waited());
        for &other in &self.order {
            let Some(Some(path)) = self.paths.get_mut(usize::from(other)) else { continue };
            if other != slot && path.wants_copy(now, number) {
                path.copied = now;
                path.give_copy(now, other, (number, bytes), waited);
                given(other);
            }
        }
    }

    fn give(&mut self, now: i64, slot: u16, number: u32, (bytes, way): (u32, Way), waited: i64) {
        let Some(Some(path)) = self.paths.get_mut(usize::from(slot)) else { return };
        let (before, size) = path.give(now, slot, (number, bytes), waited);
        if way.only.is_some() {
            path.confined.add(now, bytes);
        }
        self.log.note(number, size, waited, before);
        self.next_number = number.wrapping_add(1);
        // A short flow has one path, whatever paths carry the others.
        if is_bulk(bytes) && !way.at_once {
            self.reach.note(bytes, way.unordered);
        }
        self.sent = self.sent.saturating_add(1);
        self.silence.note_sent(now);
    }

    /// Gives back memory while nothing is sent.
    pub(crate) fn rest(&mut self) {
        self.short.rest();
        self.unordered.rest();
    }

    /// Gives a packet of `bytes` bytes in all a place at which the owner keeps it.
    pub(crate) fn add(&mut self, bytes: u32, tag: Tag) -> StoreId {
        self.keeper.add(bytes, tag)
    }

    /// Makes room for `bytes` bytes of sent packets, of which `most` may be kept now. Returns true
    /// if there is room.
    pub(crate) fn make_room(&mut self, bytes: usize, most: usize) -> bool {
        let most = most.min(MOST_BYTES);
        self.keeper.shrink(most.saturating_sub(bytes));
        bytes <= most
    }

    /// Notes that a segment has left under a number, and may have to be sent again.
    /// `now` is in the microseconds of [`Self::micros`].
    pub(crate) fn keep(&mut self, now: i64, number: u32, packet: StoreId, segment: (u16, u32)) {
        let (segment, bytes) = segment;
        self.keeper.note(now, number, Kept { packet, segment, bytes, mark: false });
    }

    /// Notes that nothing of a packet waits. Returns true if nothing of it is kept either.
    pub(crate) fn has_left(&mut self, packet: StoreId) -> bool {
        self.keeper.leave(packet)
    }

    /// Takes a packet whose segments do not leave now into the queue. Returns false if it is dropped.
    pub(crate) fn store(&mut self, now: Instant, packet: Waiting<Queued>) -> bool {
        self.confined_until = None;
        self.queue.push(now, packet).is_ok()
    }

    /// Returns the next segment that leaves the queue, if a path has credit for it.
    pub(crate) fn take(&mut self, now: Instant, number: u32) -> Option<Leaving> {
        let head = self.queue.peek(now)?;
        let micros = self.micros(now);
        let wants = Wants::of(&head);
        let Some(slot) = self.choose(micros, wants) else {
            self.refused_at = Some(micros);
            return None;
        };
        let Left { segment, bytes, mark, last, tag, waited, .. } = self.queue.pop(now)?;
        if head.sparse
            && let Some(Some(path)) = self.paths.get_mut(usize::from(slot))
        {
            path.pacer.lend(micros, bytes + path.overhead);
        }
        self.give(micros, slot, number, (bytes, wants.way), waited.as_micros() as i64);
        self.confined_until = None;
        let Queued { packet, tag } = tag;
        if self.is_keeping() {
            self.keeper.note(micros, number, Kept { packet, segment, bytes, mark });
        }
        let released = last && self.keeper.leave(packet);
        Some(Leaving { packet, segment, bytes, slot, mark, last, released, tag })
    }

    /// Returns the packet whose segment would leave next.
    pub(crate) fn next_packet(&mut self, now: Instant) -> Option<StoreId> {
        let head = self.queue.peek(now)?;
        if head.tag.tag.way.only.is_some() {
            return self.next_past_confined(now);
        }
        Some(head.tag.packet)
    }

    /// Returns a packet that the owner is to forget, since the queue has dropped the rest of it or
    /// it was kept for long enough.
    pub(crate) fn take_released(&mut self, now: Instant) -> Option<(StoreId, Tag)> {
        while let Some(dropped) = self.queue.pop_dropped() {
            if dropped.last {
                let Queued { packet, tag } = dropped.tag;
                self.keeper.drop_rest(packet, tag);
            }
        }
        self.expire(self.micros(now));
        self.keeper.take_released()
    }

    /// Returns the time at which a segment may leave the queue, or something else is due; `None` while there is nothing.
    pub(crate) fn next_departure(&self) -> Option<Instant> {
        let credit = || self.confined_until.or_else(|| self.next_credit());
        let next = (!self.queue.is_empty()).then(credit).flatten();
        // A path may have credit and be unable to carry the first packet. The time of the others
        // comes soon enough.
        let again = self.refused_at.map(|at| at + AFTER_REFUSAL);
        let next = next.map(|at| again.map_or(at, |again| at.max(again)));
        next.into_iter().chain(self.next_repair()).min().map(|at| self.instant(at))
    }

    /// Returns how long packets have waited for credit, in microseconds: as long as a pacer
    /// remembers, or 0.
    #[inline]
    fn waited(&self) -> i64 {
        if self.queue.is_empty() { 0 } else { pacer::LATE }
    }

    /// The bytes that wait, inner headers included.
    #[inline]
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.queue.len_bytes()
    }

    /// Returns what waits, and the counters of packets that have waited.
    pub(crate) fn queue_state(&self) -> QueueState {
        let (bytes, segments) = (self.queue.len_bytes(), self.queue.len_segments());
        QueueState {
            bytes,
            segments,
            flows: self.queue.flows(),
            kept_bytes: self.keeper.bytes(),
            holds_any: self.keeper.holds_any(),
            counters: self.queue.counters(),
        }
    }

    /// Returns the packets sent since the last call.
    pub(crate) fn take_sent(&mut self) -> u32 {
        self.idle = self.sent == 0;
        std::mem::take(&mut self.sent)
    }

    /// Returns the rate at which the path in a slot is given packets, in bytes per microsecond.
    pub(crate) fn rate_of(&self, slot: u16) -> Option<f64> {
        Some(self.path_at(slot)?.model.rate())
    }

    /// Returns true once when packets leave after a pause.
    #[inline]
    pub(crate) fn take_resumed(&mut self) -> bool {
        self.idle && self.sent > 0 && std::mem::take(&mut self.idle)
    }

    /// Returns stamps for the peer: numbers, the times at which they left, and how long they had
    /// waited.
    pub(crate) fn take_anchors(&mut self, most: usize) -> SmallVec<[Anchor; 64]> {
        // The stamps of the message before are repeated, since that may have been lost.
        let (from, before) = self.told;
        let anchors: SmallVec<[(u32, i64, i64); 64]> = self.log.anchors(from, most).collect();
        if let Some(&(_, latest, _)) = anchors.first() {
            self.told = (before, latest);
        }
        let anchor = |(number, left, waited): (u32, i64, i64)| Anchor {
            number,
            left: self.instant(left),
            waited: Duration::from_micros(waited.max(0).unsigned_abs()),
        };
        anchors.into_iter().map(anchor).collect()
    }

    /// Returns the paths that carry bulk or may soon, each with its slot, the last number and the
    /// packets sent over it.
    pub(crate) fn sent_up_to(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        let used = |slot: &usize, path: &Sender| {
            path.role != Role::Aside && self.order.contains(&(*slot as u16))
        };
        let used = self.paths().filter(move |(slot, path)| used(slot, path));
        used.map(|(slot, path)| (slot, path.last.unwrap_or_default(), path.packets))
    }

    /// Returns the round-trip time that a bulk flow sees. Its packets are played out when the
    /// longest path would have brought them, and its acknowledgements arrive over the shortest one.
    fn bulk_rtt(&self) -> f64 {
        let used = || self.ordered().map(|(_, path)| path).filter(|path| path.role != Role::Aside);
        let longest_rtt = used().map(|path| path.model.rtt()).fold(0.0, f64::max);
        let Some(shortest) = used().next() else { return longest_rtt };
        let (mut jitters, mut longer, mut latest) = (false, 0.0, 0.0_f64);
        for path in used() {
            jitters |= path.model.varies();
            longer = path.delay + path.foreign_queue - shortest.delay;
            latest = latest.max(longer + path.margin());
        }
        if !jitters && longer <= ALIKE {
            return longest_rtt;
        }
        (shortest.usual_round_trip() + latest + 3.0 * shortest.model.sigma()).max(longest_rtt)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use mpt_wire::gre;

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
        let protocol = gre::Protocol::IPV6;
        let (outer_tos, flow_hash, protected) = (0, 1, false);
        let (urgent, way) = (false, Way::default());
        let tag = Tag { protocol, outer_tos, flow_hash, protected, urgent, way };
        let packet = adaptive.add(1_400, tag);
        let packet = Waiting {
            flow: 1,
            segments: 1,
            largest: 1_400,
            total: 1_400,
            first: 0,
            ect: false,
            spreads: true,
            acknowledges: None,
            tag: Queued { packet, tag },
        };
        assert!(adaptive.store(start, packet));
        let now = start + Duration::from_millis(1);
        assert!(adaptive.take(now, 0).is_none());
        assert!(adaptive.next_departure().is_some_and(|at| at > now));
    }
}
