//! The exchange from which the sender of an adaptive connection learns: when its packets left, and when
//! they came.

use std::time::{Duration, Instant};

use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::{ArrivedEntry, Message, ReceivedEntry, SentEntry, Stamp};
use smallvec::SmallVec;

use super::asking::{AROUND, write_missing};
use super::due::Reports;
use crate::adaptive::{Arrived, PeerReport, Received};
use crate::path::feedback::{MOST_RANGES, Sample};
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::measurement::leads::probed;
use crate::session::engine::paths::path::SessionPath;
use crate::session::engine::shared::Shared;
use crate::session::engine::{Destination, SessionPathId};
use crate::{PathId, Tunnels, sampling};

/// The shortest time in which an end tells what has left, or reports what has come.
const SHORTEST: Duration = Duration::from_millis(10);
/// The longest time in which an end tells what has left. Bulk waits until that is known, and acknowledgements do where
/// delays jitter.
const LONGEST: Duration = Duration::from_millis(20);
/// The longest time between two reports that a peer can ask for.
const LONGEST_ASKED: Duration = Duration::from_millis(50);
/// Time between two looks at a connection that sends next to nothing.
const SLOW: Duration = Duration::from_millis(200);
/// The peer asks for reports again and again; when it no longer does, they end after this time.
const WANTED_FOR: Duration = Duration::from_secs(2);
/// The peer is told so often, before there is any data, that it will be told when packets leave: so the first
/// packet of the first flow already waits for its time.
const ANNOUNCEMENTS: u8 = 2;
/// Stamps in a message.
const STAMPS: usize = 64;
/// The share of a path, one part in so many, that the times of departure and the reports may each take, unless that is
/// less than [`FEWEST`] entries: a download needs a slow way back for its acknowledgements.
const SHARE: u64 = 40;
/// The least number of stamps or times of arrival in a message, for each path that works: reports about many slow paths
/// travel over one of them.
const FEWEST: usize = 4;
/// The bytes of a frame of either kind besides its stamps or times of arrival.
const BESIDES: u64 = AROUND + 60;
/// The length of a stamp or of a time of arrival.
const ENTRY: u64 = 10;

impl Session {
    /// Tells the peer what has left and what has come, if it is time.
    pub(crate) fn learn<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        self.tell_departed(now, shared, tunnels);
        self.report_arrived(now, shared, tunnels);
        self.ask(now, shared, tunnels);
    }

    /// Announces the paths again, since they have changed.
    pub(crate) fn announce_again(&mut self, now: Instant) {
        (self.learning.announced, self.learning.depart_at) = (0, Some(now));
    }

    /// Packets leave after a pause: the peer is told at once, so that it knows from the beginning how
    /// long they have taken.
    pub(crate) fn hurry_departed(&mut self, now: Instant) {
        self.learning.depart_at = Some(now);
    }

    /// The peer is told at this time what has left, even if nothing more leaves until then.
    pub(crate) fn put_off_departed(&mut self, at: Instant) {
        self.learning.announced = self.learning.announced.min(ANNOUNCEMENTS - 1);
        self.learning.depart_at = Some(at);
    }

    fn tell_departed<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.link.connection().filter(|&id| tunnels.is_adaptive(id)) else {
            self.learning.depart_at = None;
            return;
        };
        let announcing = self.learning.announced < ANNOUNCEMENTS;
        if !self.traffic.is_active() && !announcing {
            self.learning.depart_at = None;
            return;
        }
        if self.learning.depart_at.is_some_and(|at| at > now) {
            return;
        }
        let interval = shared.frames.stretched(self.interval());
        for path in &self.paths {
            if let Some(rtt) = path.liveness.rtt().known() {
                tunnels.set_path_rtt(path.id, rtt);
            }
        }
        self.follow_correction(id, tunnels);
        let most = self.most_entries(interval, tunnels).min(STAMPS);
        let (sent, anchors, given) = tunnels.take_departed(id, most);
        self.learning.depart_at = Some(now + if sent > 0 { interval } else { SLOW });
        if sent == 0 && !announcing {
            return;
        }
        if let Err(at) = shared.frames.take(now) {
            self.put_off_departed(at);
            return;
        }
        let Some((place, wire_id, destination)) = self.quickest_way(now) else { return };
        self.learning.announced += u8::from(announcing);
        let given = self.given(place, &given);
        let kept = tunnels.kept_from(id);
        let clock = shared.clock.stamp(now);
        let stamps: SmallVec<[Stamp; STAMPS]> = anchors
            .iter()
            .map(|anchor| Stamp {
                number: anchor.number,
                time: shared.clock.micros(anchor.left),
                waited: (anchor.waited.as_micros() / 100).try_into().unwrap_or(u16::MAX),
            })
            .collect();
        let millis = u16::try_from(interval.as_millis()).unwrap_or(u16::MAX);
        let write = |_: &mut Self, writer: &mut mpt_wire::control::Writer<'_>, _: &mut _| {
            writer.push(&clock).is_ok()
                && writer.push_departed(millis, stamps.iter().copied()).is_ok()
                && kept
                    .is_none_or(|(from, loss)| writer.push(&Message::Kept { from, loss }).is_ok())
                && writer.push_sent_up_to(given.iter().copied()).is_ok()
        };
        self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
    }

    /// Returns what the paths were given, for the peer.
    pub(crate) fn given(
        &self,
        place: Place,
        given: &[(PathId, u32, u32)],
    ) -> SmallVec<[SentEntry; 8]> {
        let entry = |&(path, last, packets): &(PathId, u32, u32)| {
            Some(SentEntry { path_id: self.wire_id(place, path)?, last, packets })
        };
        given.iter().filter_map(entry).collect()
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
        let Some(id) = self.link.connection().filter(|_| now < reports.until) else {
            self.learning.reports = None;
            if let Some(id) = self.link.connection() {
                tunnels.observe(id, false);
            }
            return;
        };
        let at = now + shared.frames.stretched(reports.interval);
        self.learning.reports = Some(Reports { at, ..reports });
        let Some((place, wire_id, destination)) = self.quickest_way(now) else { return };
        let Some(observer) = tunnels.observer(id).filter(|observer| observer.is_fresh()) else {
            return;
        };
        if let Err(at) = shared.frames.take(now) {
            self.learning.reports = Some(Reports { at, ..reports });
            return;
        }
        let Some(connection) = tunnels.connection(id) else { return };
        let received = self.received(place, id, false, tunnels);
        let clock = shared.clock.stamp(now);
        let time = shared.clock.micros(now);
        let arrived: SmallVec<[ArrivedEntry; 32]> = observer
            .samples()
            .iter()
            .filter_map(|&Sample { slot, number, at }| {
                let path_id = self.wire_id(place, connection.path_in(slot.into())?)?;
                Some(ArrivedEntry { path_id, number, time: shared.clock.micros(at) })
            })
            .collect();
        // The messages besides the reports tell of more, and have a budget of their own.
        let missing = self.take_missing(now, MOST_RANGES, tunnels);
        let write = |_: &mut Self, writer: &mut mpt_wire::control::Writer<'_>, _: &mut _| {
            writer.push(&clock).is_ok()
                && missing.as_ref().is_none_or(|missing| write_missing(writer, missing))
                && writer.push_received(received.iter().copied()).is_ok()
                && writer.push_arrived(time, arrived.iter().copied()).is_ok()
        };
        self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
        let most = self.most_entries(reports.interval, tunnels);
        tunnels.reported(now, id, most.min(sampling::WANTED));
    }

    /// The peer tells when its packets left, and wants to know when they come.
    pub(crate) fn handle_departed<P: Copy>(
        &mut self,
        now: Instant,
        interval: u16,
        stamps: impl Iterator<Item = Stamp>,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.link.connection() else { return };
        let interval = Duration::from_millis(interval.into()).clamp(SHORTEST, LONGEST_ASKED);
        let until = now + WANTED_FOR;
        let mut stamps = stamps.peekable();
        if stamps.peek().is_some() {
            tunnels.observe(id, true);
            // If delays jitter, the peer recognises a loss late, and the repair still has to come in time. So reports are sent twice as often.
            let hurries = tunnels.jitters(id);
            let interval = if hurries { (interval / 2).max(SHORTEST) } else { interval };
            let next = now + interval;
            let at = self.learning.reports.map_or(next, |reports| reports.at.min(next));
            self.learning.reports = Some(Reports { at, interval, until });
        }
        let clock = shared.clock.micros(now);
        tunnels.handle_departed(now, id, clock, interval, stamps);
        tunnels.set_path_delays(now, id, self.paths.iter().filter_map(probed));
    }

    /// The peer tells which paths it gives bulk, or may soon.
    pub(crate) fn handle_sent_up_to<P: Copy>(
        &mut self,
        ours: bool,
        entries: impl Iterator<Item = SentEntry>,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.link.connection() else { return };
        let told: SmallVec<[(PathId, u32); 8]> = entries
            .filter_map(|entry| {
                Some((self.paths.get(self.paths.named(ours, entry.path_id)?)?.id, entry.last))
            })
            .collect();
        for path in &mut self.paths {
            path.brings_bulk = told.iter().any(|&(used, _)| used == path.id);
        }
        tunnels.set_used_paths(id, &told);
    }

    /// The peer reports what has come of ours.
    pub(crate) fn handle_feedback<P: Copy>(
        &mut self,
        now: Instant,
        ours: bool,
        (clock, time): (u32, u32),
        arrived: impl Iterator<Item = ArrivedEntry>,
        received: impl Iterator<Item = ReceivedEntry>,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.link.connection() else { return };
        let received: SmallVec<[Received; 8]> = received
            .filter_map(|entry| {
                let path = self.paths.get(self.paths.named(ours, entry.path_id)?)?;
                let slot = usize::from(tunnels.path(path.id)?.slot);
                let ReceivedEntry {
                    packets, bytes, highest, marked, settled, settled_packets, ..
                } = entry;
                let settled = (settled != highest).then_some((settled, settled_packets));
                Some(Received { slot, packets, bytes, highest, settled, marked })
            })
            .collect();
        let arrived: SmallVec<[Arrived; 32]> = arrived
            .filter_map(|ArrivedEntry { path_id, number, time }| {
                let path = self.paths.get(self.paths.named(ours, path_id)?)?;
                Some(Arrived { slot: tunnels.path(path.id)?.slot, number, time })
            })
            .collect();
        let report = PeerReport { clock, time, arrived: &arrived, received: &received };
        tunnels.handle_peer_report(now, id, &report);
    }

    /// Returns the greatest number of entries of a message that is sent in each `interval`.
    fn most_entries<P: Copy>(&self, interval: Duration, tunnels: &Tunnels<P>) -> usize {
        let path = self.quickest().and_then(|i| self.paths.get(i));
        let way = self.link.connection().zip(path);
        let rate = way.and_then(|(id, path)| tunnels.rate_of(id, path.id));
        room(rate, interval, self.working_paths())
    }

    /// Returns the number of paths that work.
    pub(crate) fn working_paths(&self) -> usize {
        self.paths.iter().filter(|path| path.is_up()).count()
    }

    /// Half the least round-trip time, within bounds.
    fn interval(&self) -> Duration {
        self.quickest_rtt().map_or(LONGEST, |rtt| (rtt / 2).clamp(SHORTEST, LONGEST))
    }

    /// Returns the round-trip time of the quickest path without queues. `None` before the first
    /// answer.
    pub(crate) fn quickest_rtt(&self) -> Option<Duration> {
        self.paths.iter().filter_map(SessionPath::usual_rtt).min()
    }

    /// Returns what a path of the connection is called in messages; `None` if the peer does not
    /// know it.
    pub(crate) fn wire_id(&self, place: Place, path: PathId) -> Option<SessionPathId> {
        let i = self.paths.iter().position(|it| it.id == path)?;
        self.way(place, i).map(|(path_id, _)| path_id)
    }

    /// The path that usually answers soonest.
    pub(crate) fn quickest_way(
        &mut self,
        now: Instant,
    ) -> Option<(Place, SessionPathId, Destination)> {
        let place = self.keys.sending(now)?;
        let (wire_id, destination) = self.way(place, self.quickest()?)?;
        Some((place, wire_id, destination))
    }

    /// Returns the place of the path that usually answers soonest.
    fn quickest(&self) -> Option<usize> {
        let up = |(_, path): &(usize, &SessionPath)| path.is_up();
        let within = |path: &SessionPath| path.answers_within().unwrap_or(Duration::MAX);
        let paths = self.paths.iter().enumerate().filter(up);
        paths.min_by_key(|(_, path)| within(path)).map(|(i, _)| i)
    }
}

/// Returns how many entries fit into [`SHARE`] of a path of this rate, in bytes per second, where a message leaves in each
/// `interval`; and [`FEWEST`] for each of so many `paths` at the least.
fn room(rate: Option<u64>, interval: Duration, paths: usize) -> usize {
    let millis = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    let bytes = rate.unwrap_or(u64::MAX).saturating_mul(millis) / 1_000 / SHARE;
    let entries = bytes.saturating_sub(BESIDES) / ENTRY;
    usize::try_from(entries).unwrap_or(usize::MAX).max(FEWEST * paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_long_as_the_way_back_has_room_for() {
        let entries = |megabits: u64, millis, paths| {
            room(Some(megabits * 125_000), Duration::from_millis(millis), paths)
        };
        for (megabits, millis) in [(1, 10), (2, 20), (3, 20)] {
            assert_eq!(entries(megabits, millis, 2), 2 * FEWEST, "{megabits} Mbit/s");
        }
        // A fortieth of 10 Mbit/s for 20 ms, less 146 bytes, is 479 bytes.
        assert_eq!(entries(10, 20, 2), 47);
        assert_eq!(entries(10, 10, 2), 16);
        assert_eq!(entries(10, 10, 32), 32 * FEWEST);
        assert!(entries(20, 20, 2) >= STAMPS && room(None, SHORTEST, 2) >= STAMPS);
    }
}
