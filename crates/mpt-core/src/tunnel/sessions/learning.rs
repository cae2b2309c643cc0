//! The exchange between sessions and the data of adaptive connections.

use std::time::{Duration, Instant};

use mpt_wire::control::Stamp;
use smallvec::SmallVec;

use crate::adaptive::{Anchor, Lack, PeerReport, Surveyed};
use crate::path::feedback::{Observer, Ranges};
use crate::reorder::Losses;
use crate::session::RttEstimate;
use crate::tunnel::Tunnels;
use crate::{ConnectionId, PathId};

/// The measurements by probes of a path on which the peer sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathDelay {
    pub(crate) path: PathId,
    /// The least difference of arrival and departure by both clocks, in microseconds modulo 2^32.
    pub(crate) least: u32,
    /// By how much delays differ while the path carries no data.
    pub(crate) spread: Duration,
    /// The least round-trip time.
    pub(crate) rtt: Duration,
}

/// See [`Tunnels::take_departed`].
type Departed = (u32, SmallVec<[Anchor; 64]>, SmallVec<[(PathId, u32, u32); 4]>);

impl<P: Copy> Tunnels<P> {
    /// Has the packets that come on a connection observed, since the peer wants to know when they come;
    /// or no longer.
    pub(crate) fn observe(&mut self, id: ConnectionId, wanted: bool) {
        let Some(connection) = self.connection_mut(id) else { return };
        if let Some(reorder) = &mut connection.reorder {
            reorder.observe(wanted);
        }
        if !wanted {
            connection.rest_restoring();
        }
    }

    /// Returns what has come, while it is observed.
    pub(crate) fn observer(&self, id: ConnectionId) -> Option<&Observer> {
        self.connection(id)?.reorder.as_ref()?.observer()
    }

    /// Returns the observer of a connection, to be asked for missing numbers.
    pub(crate) fn observer_mut(&mut self, id: ConnectionId) -> Option<&mut Observer> {
        self.connection_mut(id)?.reorder.as_mut()?.observer_mut()
    }

    /// The peer of a connection sends again what is lost, from number `from` on; or nothing.
    pub(crate) fn set_kept(&mut self, now: Instant, id: ConnectionId, from: Option<u32>) {
        if let Some(observer) = self.observer_mut(id) {
            observer.set_kept(now, from);
        }
    }

    /// The peer of a connection has sent everything up to a number.
    pub(crate) fn told(&mut self, now: Instant, id: ConnectionId, number: u32) {
        let Some(observer) = self.observer_mut(id) else { return };
        observer.told(now, number);
        if observer.take_found() {
            self.found.push(id);
        }
    }

    /// A connection on which something is missing after nothing was.
    #[inline]
    pub(crate) fn take_found(&mut self) -> Option<ConnectionId> {
        self.found.pop()
    }

    /// A connection of which a path has fallen quiet.
    pub(crate) fn take_tail(&mut self) -> Option<ConnectionId> {
        self.tails.pop()
    }

    /// Sets how long lost packets of a connection are waited for, since the peer sends them again.
    pub(crate) fn set_repair_time(
        &mut self,
        id: ConnectionId,
        time: Option<Duration>,
        losses: Losses,
    ) {
        if let Some(reorder) = self.connection_mut(id).and_then(|it| it.reorder.as_mut()) {
            reorder.set_repair_time(time, losses);
        }
    }

    /// The lowest number of a connection that may be sent again, and the share of packets that are lost;
    /// `None` if nothing is sent again.
    pub(crate) fn kept_from(&self, id: ConnectionId) -> Option<(u32, u16)> {
        self.connection(id)?.tally.adaptive.as_ref()?.kept_from()
    }

    /// Returns what each path was given: its last number and its packets.
    pub(crate) fn sent_up_to(&self, id: ConnectionId) -> SmallVec<[(PathId, u32, u32); 4]> {
        let Some(connection) = self.connection(id) else { return SmallVec::new() };
        let given = connection.tally.adaptive.iter().flat_map(|adaptive| adaptive.sent_up_to());
        let of_path = |(slot, last, packets)| Some((connection.path_in(slot)?, last, packets));
        given.filter_map(of_path).collect()
    }

    /// The peer says what it misses.
    pub(crate) fn handle_missing(&mut self, now: Instant, id: ConnectionId, lack: &Lack<'_>) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        if connection.handle_missing(now, lack) {
            self.may_depart(id);
        }
    }

    /// Takes the numbers of a connection of which the peer is to be told that they will not come.
    pub(crate) fn take_refusals(&mut self, id: ConnectionId) -> Ranges {
        let adaptive = self.connection_mut(id).and_then(|it| it.tally.adaptive.as_mut());
        adaptive.map(|adaptive| adaptive.take_refusals()).unwrap_or_default()
    }

    /// The peer of a connection will not send these numbers again: first number and count.
    pub(crate) fn refuse(
        &mut self,
        now: Instant,
        id: ConnectionId,
        ranges: impl Iterator<Item = (u32, u16)>,
    ) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        connection.refuse(now, ranges);
        if let Some(time) = connection.next_timeout() {
            self.timers.set_no_later(id.index() as u32, time);
        }
    }

    /// The report of what has come is made. The next one has about as many samples as are `wanted`.
    pub(crate) fn reported(&mut self, now: Instant, id: ConnectionId, wanted: usize) {
        let reorder = self.connection_mut(id).and_then(|it| it.reorder.as_mut());
        if let Some(observer) = reorder.and_then(|reorder| reorder.observer_mut()) {
            observer.reported(now, wanted);
        }
    }

    /// True if the sender of this connection learns from reports.
    pub(crate) fn is_adaptive(&self, id: ConnectionId) -> bool {
        self.connection(id).is_some_and(|connection| connection.tally.adaptive.is_some())
    }

    /// Returns the rate at which a path of an adaptive connection is given packets, in bytes per
    /// second.
    pub(crate) fn rate_of(&self, id: ConnectionId, path: PathId) -> Option<u64> {
        let slot = self.paths.get(path)?.slot;
        let rate = self.connection(id)?.tally.adaptive.as_ref()?.rate_of(slot)?;
        Some((rate * 1e6) as u64)
    }

    /// Returns how many packets have left since the last call; when some of them did; and what each path was
    /// given: its last number and its packets.
    pub(crate) fn take_departed(&mut self, id: ConnectionId, most: usize) -> Departed {
        let none = Departed::default();
        let Some(connection) = self.connection_mut(id) else { return none };
        let Some(adaptive) = &mut connection.tally.adaptive else { return none };
        let sent = adaptive.take_sent();
        let anchors = adaptive.take_anchors(most);
        (sent, anchors, self.sent_up_to(id))
    }

    /// The peer tells when its numbers left, in microseconds of its clock modulo 2^32; `clock` is our time
    /// by the clock that probes are measured with. It tells in intervals of `interval`.
    pub(crate) fn handle_departed(
        &mut self,
        now: Instant,
        id: ConnectionId,
        clock: u32,
        interval: Duration,
        stamps: impl Iterator<Item = Stamp>,
    ) {
        let Some(connection) = self.connection_mut(id) else { return };
        if let Some(reorder) = &mut connection.reorder {
            reorder.playout(now).handle_stamps(now, clock, interval, stamps);
        }
    }

    /// True if delays jitter on a path over which the peer of a connection sends bulk.
    pub(crate) fn jitters(&mut self, id: ConnectionId) -> bool {
        let reorder = self.connection_mut(id).and_then(|it| it.reorder.as_mut());
        reorder.and_then(|it| it.playout_mut()).is_some_and(|playout| playout.jitters())
    }

    /// Takes the measurements of the paths by probes, for a peer that sends send times.
    pub(crate) fn set_path_delays(
        &mut self,
        now: Instant,
        id: ConnectionId,
        probed: impl Iterator<Item = PathDelay>,
    ) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let Some(reorder) = &mut connection.reorder else { return };
        let Some(playout) = reorder.playout_mut() else { return };
        for PathDelay { path, least, spread, rtt } in probed {
            if let Some(path) = self.paths.get(path).filter(|it| it.connection == id) {
                playout.set_probed(path.slot.into(), least, spread, rtt);
            }
        }
        playout.update_hold(now);
        if let Some(time) = reorder.next_timeout() {
            self.timers.set_no_later(id.index() as u32, time);
        }
    }

    /// The peer gives these paths bulk, or may soon, and no others; with the last number of each.
    pub(crate) fn set_used_paths(&mut self, id: ConnectionId, told: &[(PathId, u32)]) {
        let Some(connection) = self.connection_mut(id) else { return };
        let slots: SmallVec<[(usize, PathId); 8]> = connection.slots().collect();
        let Some(playout) = connection.reorder.as_mut().and_then(|it| it.playout_mut()) else {
            return;
        };
        for (slot, path) in slots {
            let last = told.iter().find(|&&(it, _)| it == path).map(|&(_, last)| last);
            playout.set_used(slot, last);
        }
    }

    /// The peer reports what has come of ours.
    pub(crate) fn handle_peer_report(
        &mut self,
        now: Instant,
        id: ConnectionId,
        report: &PeerReport<'_>,
    ) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        if let Some(adaptive) = connection.learner() {
            adaptive.handle_report(now, report);
            self.may_depart(id);
        }
    }

    /// Returns true if a connection sends again what is lost.
    pub(crate) fn is_repairing(&self, id: ConnectionId) -> bool {
        let adaptive = self.connection(id).and_then(|it| it.tally.adaptive.as_ref());
        adaptive.is_some_and(|it| it.is_repairing())
    }

    /// Returns the number of data packets that were sent over a path, or 0 if there is no such path.
    pub(crate) fn path_data_sent(&self, id: PathId) -> u64 {
        self.paths.get(id).map_or(0, |path| path.sent().packets)
    }

    /// Takes the result of a survey of a path.
    pub(crate) fn set_path_surveyed(&mut self, now: Instant, id: PathId, surveyed: &Surveyed) {
        let Some(path) = self.paths.get(id) else { return };
        let (connection, slot) = (path.connection, usize::from(path.slot));
        if let Some(adaptive) = self.connection_mut(connection).and_then(|it| it.learner()) {
            adaptive.set_surveyed(now, slot, surveyed);
        }
    }

    /// The round-trip time of a path by its probes.
    pub(crate) fn set_path_rtt(&mut self, id: PathId, rtt: RttEstimate) {
        let Some(path) = self.paths.get(id) else { return };
        let (connection, slot) = (path.connection, usize::from(path.slot));
        if let Some(adaptive) =
            self.connection_mut(connection).and_then(|it| it.tally.adaptive.as_mut())
        {
            adaptive.set_rtt(slot, rtt);
        }
    }
}
