//! The exchange from which the sender of an adaptive connection learns: when its packets left, and when
//! they came.

use std::time::{Duration, Instant};

use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::{ArrivedEntry, ReceivedEntry, SentEntry, Stamp};
use smallvec::SmallVec;

use super::keys::Place;
use super::session::Session;
use super::shared::Shared;
use super::{Destination, SessionPathId};
use crate::Tunnels;
use crate::adaptive::{Arrived, PeerReport, Received};
use crate::feedback::Sample;
use crate::liveness::State;

/// The shortest and the longest time between two reports.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(50));
/// Time between two looks at a connection that sends next to nothing.
const SLOW: Duration = Duration::from_millis(200);
/// The peer asks for reports again and again; when it no longer does, they end after this time.
const WANTED_FOR: Duration = Duration::from_secs(2);
/// Stamps in a message.
const STAMPS: usize = 16;

/// When the two halves of the exchange are due.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Learning {
    /// When the peer is told what has left.
    depart_at: Option<Instant>,
    /// Reports that the peer wants.
    reports: Option<Reports>,
}

#[derive(Clone, Copy, Debug)]
struct Reports {
    at: Instant,
    interval: Duration,
    until: Instant,
}

impl Learning {
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.depart_at.into_iter().chain(self.reports.map(|reports| reports.at)).min()
    }
}

impl Session {
    /// Tells the peer what has left and what has come, if it is time.
    pub(super) fn learn<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        self.tell_departed(now, shared, tunnels);
        self.report_arrived(now, shared, tunnels);
    }

    /// Packets leave after a pause: the peer is told soon.
    pub(super) fn hurry_departed(&mut self, now: Instant) {
        let at = now + self.interval();
        self.learning.depart_at = Some(self.learning.depart_at.map_or(at, |due| due.min(at)));
    }

    fn tell_departed<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let connection = self.connection.filter(|_| self.active);
        let Some(id) = connection.filter(|&id| tunnels.is_adaptive(id)) else {
            self.learning.depart_at = None;
            return;
        };
        if self.learning.depart_at.is_some_and(|at| at > now) {
            return;
        }
        let interval = self.interval();
        for path in &self.paths {
            let rtt = path.liveness.rtt();
            if let (Some(least), Some(usual)) = (rtt.minimum(), rtt.smoothed()) {
                tunnels.set_path_rtt(path.id, least, usual);
            }
        }
        let (sent, anchors, given) = tunnels.take_departed(id, STAMPS);
        self.learning.depart_at = Some(now + if sent > 0 { interval } else { SLOW });
        if sent == 0 {
            return;
        }
        let Some((place, wire_id, destination)) = self.quickest_way(now) else { return };
        let given: SmallVec<[SentEntry; 8]> = given
            .iter()
            .filter_map(|&(path, last, packets)| {
                let i = self.paths.iter().position(|it| it.id == path)?;
                let (path_id, _) = self.way(place, i)?;
                Some(SentEntry { path_id, last, packets })
            })
            .collect();
        let clock = shared.clock.stamp(now);
        let stamps: SmallVec<[Stamp; STAMPS]> = anchors
            .iter()
            .map(|&(number, at)| Stamp { number, time: shared.clock.micros(at) })
            .collect();
        let millis = interval.as_millis() as u16;
        let write = |_: &mut Self, writer: &mut mpt_wire::control::Writer<'_>, _: &mut _| {
            writer.push(&clock).is_ok()
                && writer.push_departed(millis, stamps.iter().copied()).is_ok()
                && writer.push_sent_up_to(given.iter().copied()).is_ok()
        };
        self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
    }

    fn report_arrived<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(reports) = self.learning.reports.filter(|reports| reports.at <= now) else {
            return;
        };
        let Some(id) = self.connection.filter(|_| now < reports.until) else {
            self.learning.reports = None;
            if let Some(id) = self.connection {
                tunnels.observe(id, false);
            }
            return;
        };
        let at = now + reports.interval;
        self.learning.reports = Some(Reports { at, ..reports });
        let Some((place, wire_id, destination)) = self.quickest_way(now) else { return };
        let Some(observer) = tunnels.observer(id).filter(|observer| observer.is_fresh()) else {
            return;
        };
        let Some(connection) = tunnels.connection(id) else { return };
        let slots: SmallVec<[_; 8]> = connection.slots().collect();
        let received: SmallVec<[ReceivedEntry; 8]> = observer
            .seen()
            .filter_map(|(slot, seen)| {
                let path = *slots.get(slot)?;
                let i = self.paths.iter().position(|it| it.id == path)?;
                let (path_id, _) = self.way(place, i)?;
                let (packets, bytes, highest) = (seen.packets, seen.bytes, seen.highest);
                let (settled, settled_packets) = seen.settled.unwrap_or((highest, packets));
                let marked = seen.marked;
                Some(ReceivedEntry {
                    path_id,
                    packets,
                    bytes,
                    highest,
                    marked,
                    settled,
                    settled_packets,
                })
            })
            .collect();
        let clock = shared.clock.stamp(now);
        let time = shared.clock.micros(now);
        let arrived: SmallVec<[ArrivedEntry; 32]> = observer
            .samples()
            .iter()
            .filter_map(|&Sample { slot, number, at }| {
                let path = *slots.get(usize::from(slot))?;
                let i = self.paths.iter().position(|it| it.id == path)?;
                let (path_id, _) = self.way(place, i)?;
                Some(ArrivedEntry { path_id, number, time: shared.clock.micros(at) })
            })
            .collect();
        let write = |_: &mut Self, writer: &mut mpt_wire::control::Writer<'_>, _: &mut _| {
            writer.push(&clock).is_ok()
                && writer.push_received(received.iter().copied()).is_ok()
                && writer.push_arrived(time, arrived.iter().copied()).is_ok()
        };
        self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
        tunnels.reported(now, id);
    }

    /// The peer tells when its packets left, and wants to know when they come.
    pub(super) fn handle_departed<P: Copy>(
        &mut self,
        now: Instant,
        interval: u16,
        _stamps: impl Iterator<Item = Stamp>,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.connection else { return };
        let (shortest, longest) = INTERVALS;
        let interval = Duration::from_millis(interval.into()).clamp(shortest, longest);
        let until = now + WANTED_FOR;
        tunnels.observe(id, true);
        let next = now + interval;
        let at = self.learning.reports.map_or(next, |reports| reports.at.min(next));
        self.learning.reports = Some(Reports { at, interval, until });
    }

    /// The peer reports what has come of ours.
    pub(super) fn handle_feedback<P: Copy>(
        &mut self,
        now: Instant,
        ours: bool,
        (clock, time): (u32, u32),
        arrived: impl Iterator<Item = ArrivedEntry>,
        received: impl Iterator<Item = ReceivedEntry>,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.connection else { return };
        let received: SmallVec<[Received; 8]> = received
            .filter_map(|entry| {
                let path = &self.paths[self.path_at(ours, entry.path_id)?];
                let slot = usize::from(tunnels.path(path.id)?.slot);
                let ReceivedEntry { packets, bytes, highest, settled, settled_packets, .. } = entry;
                let settled = (settled != highest).then_some((settled, settled_packets));
                Some(Received { slot, packets, bytes, highest, settled })
            })
            .collect();
        let arrived: SmallVec<[Arrived; 32]> = arrived
            .filter_map(|ArrivedEntry { path_id, number, time }| {
                let path = &self.paths[self.path_at(ours, path_id)?];
                Some(Arrived { slot: tunnels.path(path.id)?.slot, number, time })
            })
            .collect();
        let report = PeerReport { clock, time, arrived: &arrived, received: &received };
        tunnels.handle_peer_report(now, id, &report);
    }

    /// Half the least round-trip time, within bounds.
    fn interval(&self) -> Duration {
        let (shortest, longest) = INTERVALS;
        let rtt = self.paths.iter().filter_map(|path| path.liveness.rtt().minimum()).min();
        rtt.map_or(longest, |rtt| (rtt / 2).clamp(shortest, longest))
    }

    /// The path that answers soonest.
    fn quickest_way(&mut self, now: Instant) -> Option<(Place, SessionPathId, Destination)> {
        let place = self.keys.sending(now)?;
        let up = |i: &usize| self.paths[*i].liveness.state() == State::Up;
        let i = (0..self.paths.len())
            .filter(up)
            .min_by_key(|&i| self.paths[i].liveness.rtt().minimum().unwrap_or(Duration::MAX))?;
        let (wire_id, destination) = self.way(place, i)?;
        Some((place, wire_id, destination))
    }
}
