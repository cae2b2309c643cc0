//! The requests for missing numbers of the peer's data, and the numbers that the peer keeps.
//!
//! A peer that says what it keeps is asked for what is missing: with each report, and while something is
//! missing every few milliseconds besides. Each of these messages has all that is missing, so that one
//! that is lost costs nothing.

use std::time::{Duration, Instant};

use mpt_wire::control::frame::{MAX_PAYLOAD_LEN, SEALED_HEADER_LEN, TAG_LEN};
use mpt_wire::control::{
    Entries, MAX_MAP_LEN, MissingEntry, MissingMap, ReceivedEntry, SentEntry, Writer,
};
use mpt_wire::gre;
use mpt_wire::ip::Version;
use smallvec::SmallVec;

use super::due::Asking;
use crate::adaptive::{Lack, held};
use crate::path::feedback::{MOST_RANGES, Ranges};
use crate::path::mtu;
use crate::reorder::Losses;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::paths::path::SessionPath;
use crate::session::engine::shared::Shared;
use crate::{ConnectionId, Tunnels};

/// Time between two messages while something is missing and at least half of [`BURST`] is left; the quickest round-trip time where that is shorter,
/// since a flow has a small window there and waits for each repair. With a quarter left it is twice as long, and four times with less: a slow start
/// that has carried little yet is better asked late than not at all for a while.
const INTERVAL: Duration = Duration::from_millis(5);
/// Time between two messages where nothing is lost, as far as the peer knows: missing packets are under way over a longer
/// path then, and reports name them soon enough.
const SELDOM: Duration = Duration::from_millis(20);
/// The shortest time between two messages, and the time after which the peer is asked where nothing was missing before: other paths may fill the gap.
const AT_ONCE: Duration = Duration::from_millis(1);
/// The peer says again and again what it keeps; when it no longer does, it is not asked after this time.
const KEPT_FOR: Duration = Duration::from_secs(2);
/// Time between two answers that say what will not come. The peer asks again for what it was not told of.
const BETWEEN_REFUSALS: Duration = Duration::from_millis(4);
/// One byte of requests may be sent per this many bytes that arrive.
const SHARE: u64 = 100;
/// Bytes that may be spent on asking at once, and before anything has arrived.
const BURST: u64 = 24_000;
/// Bytes around the messages of a frame: IPv6, UDP, GRE, header and tag of a sealed frame.
pub(crate) const AROUND: u64 = {
    let gre = gre::Repr::control(Some(0)).header_len();
    mtu::overhead(Version::V6, 0) as u64 + (gre + SEALED_HEADER_LEN + TAG_LEN) as u64
};

/// The most ranges of missing numbers that a message besides the reports tells of: those of a Missing, and one for every second bit of the
/// map behind it.
const MOST_TOLD: usize = MOST_RANGES + 4 * MAX_MAP_LEN;

/// The budget of the daemon has nothing left: the frame is put off, and the session has another time at which it is due.
pub(crate) struct PutOff;

impl Session {
    /// The peer says what it keeps.
    pub(crate) fn handle_kept<P: Copy>(
        &mut self,
        now: Instant,
        from: u32,
        loss: u16,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.link.connection() else { return };
        tunnels.set_kept(now, id, Some(from));
        let losses = match loss {
            0 => Losses::None,
            1 => Losses::Possible,
            _ => Losses::Known,
        };
        let time = self.quickest_rtt().map(|rtt| held(rtt, self.working_paths()));
        // The usual time, since the least of many is none that packets have where delays jitter.
        let usual = |path: &SessionPath| Some(path.liveness.rtt().known()?.smoothed);
        let usual = self.paths.iter().filter_map(usual).min();
        let every = match usual {
            Some(rtt) if rtt < INTERVAL => rtt.max(AT_ONCE),
            _ if losses == Losses::None => SELDOM,
            _ => INTERVAL,
        };
        tunnels.set_repair_time(id, time, losses);
        let until = now + KEPT_FOR;
        match &mut self.learning.asking {
            Some(asking) => (asking.until, asking.every) = (until, every),
            asking => {
                let came = bytes_received(tunnels, id);
                *asking = Some(Asking { until, every, at: None, last: now, tokens: BURST, came });
            }
        }
    }

    /// The peer says what it has sent, and that it keeps nothing of it.
    pub(crate) fn handle_none_kept<P: Copy>(&mut self, tunnels: &mut Tunnels<P>) {
        if let Some(id) = self.link.connection() {
            tunnels.set_repair_time(id, None, Losses::None);
        }
    }

    /// The peer says what it has sent.
    pub(crate) fn handle_last_sent<P: Copy>(
        &mut self,
        now: Instant,
        entries: impl Iterator<Item = SentEntry>,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.link.connection() else { return };
        for entry in entries {
            tunnels.told(now, id, entry.last);
        }
    }

    /// Something is missing after nothing was.
    pub(crate) fn ask_soon(&mut self, now: Instant) {
        if let Some(asking) = &mut self.learning.asking {
            let at = (now + AT_ONCE).max(asking.last + asking.every);
            asking.at = Some(asking.at.map_or(at, |due| due.min(at)));
        }
    }

    /// Returns the missing numbers, up to `most` ranges, for a message that is sent now. `None` if the
    /// peer is not asked.
    pub(crate) fn take_missing<P: Copy>(
        &mut self,
        now: Instant,
        most: usize,
        tunnels: &mut Tunnels<P>,
    ) -> Option<Ranges> {
        let id = self.link.connection()?;
        let asking = self.learning.asking.as_mut()?;
        if now >= asking.until {
            self.learning.asking = None;
            tunnels.set_kept(now, id, None);
            // The hold stays: the next flow begins as this one ended.
            return None;
        }
        let missing: Ranges = tunnels.observer_mut(id)?.missing(now)?.take(most).collect();
        asking.at = (!missing.is_empty()).then_some(now + asking.interval());
        asking.last = now;
        Some(missing)
    }

    /// Asks for what is missing, if it is time.
    pub(crate) fn ask<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let (Some(id), Some(asking)) = (self.link.connection(), &mut self.learning.asking) else {
            return;
        };
        if asking.at.is_none_or(|at| at > now) {
            return;
        }
        let came = bytes_received(tunnels, id);
        let more = came.saturating_sub(asking.came) / SHARE;
        (asking.tokens, asking.came) =
            ((asking.tokens + more).min(BURST), asking.came.max(asking.came + more * SHARE));
        if asking.tokens < AROUND {
            asking.at = Some(now + asking.every);
            return;
        }
        if let Err(at) = shared.frames.take(now) {
            asking.at = Some(at);
            return;
        }
        let Some(missing) = self.take_missing(now, MOST_TOLD, tunnels).filter(|it| !it.is_empty())
        else {
            return;
        };
        let Some((place, wire_id, destination)) = self.quickest_way(now) else { return };
        let received = self.received(place, id, true, tunnels);
        let clock = shared.clock.stamp(now);
        let mut len = 0;
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            let written = writer.push(&clock).is_ok()
                && write_missing(writer, &missing)
                && writer.push_received(received.iter().copied()).is_ok();
            len = writer.len() as u64;
            written
        };
        self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
        if let Some(asking) = &mut self.learning.asking {
            asking.tokens = asking.tokens.saturating_sub(AROUND + len);
        }
    }

    /// Returns what has come on the paths: on all on which anything ever has, or on those of which
    /// it is news.
    pub(crate) fn received<P: Copy>(
        &self,
        place: Place,
        id: ConnectionId,
        all: bool,
        tunnels: &Tunnels<P>,
    ) -> SmallVec<[ReceivedEntry; 8]> {
        let (Some(observer), Some(connection)) = (tunnels.observer(id), tunnels.connection(id))
        else {
            return SmallVec::new();
        };
        let wanted = observer.seen().filter(|(_, seen)| all || seen.is_fresh());
        let entry = |(slot, seen): (usize, &crate::path::feedback::Seen)| {
            let path_id = self.wire_id(place, connection.path_in(slot)?)?;
            let (packets, bytes, highest, marked) =
                (seen.packets, seen.bytes, seen.highest, seen.marked);
            let (settled, settled_packets) = seen.settled.unwrap_or((highest, packets));
            Some(ReceivedEntry {
                path_id,
                packets,
                bytes,
                highest,
                marked,
                settled,
                settled_packets,
            })
        };
        wanted.filter_map(entry).collect()
    }

    /// The peer asks for what it misses.
    #[expect(clippy::too_many_arguments, reason = "a message is all of that")]
    pub(crate) fn handle_missing<P: Copy>(
        &mut self,
        now: Instant,
        ours: bool,
        (clock, time): (u32, u32),
        received: &Entries<'_, ReceivedEntry>,
        (missing, map): (&Entries<'_, MissingEntry>, Option<MissingMap<'_>>),
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.link.connection() else { return };
        let highest: SmallVec<[(u16, u32); 8]> = received
            .iter()
            .filter_map(|entry| {
                let path = self.paths.get(self.paths.named(ours, entry.path_id)?)?;
                Some((tunnels.path(path.id)?.slot, entry.highest))
            })
            .collect();
        let complete = map.map_or(missing.len() < MOST_RANGES, |map| map.is_complete());
        let entries = missing.iter().take(MOST_RANGES);
        let entries = entries.chain(map.iter().flat_map(MissingMap::ranges));
        let missing: Ranges = entries.map(|entry| (entry.first, entry.count)).collect();
        let lack = Lack { clock, time, highest: &highest, missing: &missing, complete };
        tunnels.handle_missing(now, id, &lack);
        self.refuse(now, id, shared, tunnels);
    }

    /// Tells the peer at once which of the numbers that it misses will not come.
    fn refuse<P: Copy>(
        &mut self,
        now: Instant,
        id: ConnectionId,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        if self.learning.refused.is_some_and(|at| now < at + BETWEEN_REFUSALS) {
            return;
        }
        let refusals = tunnels.take_refusals(id);
        if refusals.is_empty() {
            return;
        }
        let Some((place, wire_id, destination)) = self.quickest_way(now) else { return };
        self.learning.refused = Some(now);
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            let entries = refusals.iter().map(|&(first, count)| MissingEntry { first, count });
            writer.push_refused(entries).is_ok()
        };
        self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
    }

    /// The peer says what it will not send again.
    pub(crate) fn handle_refused<P: Copy>(
        &self,
        now: Instant,
        refused: &Entries<'_, MissingEntry>,
        tunnels: &mut Tunnels<P>,
    ) {
        if let Some(id) = self.link.connection() {
            let ranges = refused.iter().take(MOST_RANGES);
            tunnels.refuse(now, id, ranges.map(|entry| (entry.first, entry.count)));
        }
    }

    /// A path has fallen quiet: the peer is told what was sent, so that it misses what is lost. If the budget has nothing left, it is told later.
    pub(crate) fn tell_tail<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) -> Result<(), PutOff> {
        let Some(id) = self.link.connection() else { return Ok(()) };
        let Some((from, loss)) = tunnels.kept_from(id) else { return Ok(()) };
        if let Err(at) = shared.frames.take(now) {
            self.put_off_departed(at);
            return Err(PutOff);
        }
        let Some((place, wire_id, destination)) = self.quickest_way(now) else { return Ok(()) };
        let given = self.given(place, &tunnels.sent_up_to(id));
        let clock = shared.clock.stamp(now);
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            writer.push(&clock).is_ok()
                && writer.push(&mpt_wire::control::Message::Kept { from, loss }).is_ok()
                && writer.push_sent_up_to(given.iter().copied()).is_ok()
        };
        self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
        Ok(())
    }
}

impl Asking {
    /// Returns the time until the next message while something is missing.
    fn interval(&self) -> Duration {
        match self.tokens {
            tokens if tokens >= BURST / 2 => self.every,
            tokens if tokens >= BURST / 4 => 2 * self.every,
            _ => 4 * self.every,
        }
    }
}

/// Writes what is missing.
pub(crate) fn write_missing(writer: &mut Writer<'_>, missing: &Ranges) -> bool {
    let entries = missing.iter().map(|&(first, count)| MissingEntry { first, count });
    let (ranges, map) = (entries.clone().take(MOST_RANGES), entries.skip(MOST_RANGES));
    writer.push_missing(ranges).is_ok() && writer.push_missing_map(map).is_ok()
}

/// Bytes of inner packets that have come on a connection.
fn bytes_received<P: Copy>(tunnels: &Tunnels<P>, id: ConnectionId) -> u64 {
    let paths = tunnels.connection(id).into_iter().flat_map(crate::Connection::paths);
    paths.filter_map(|path| Some(tunnels.path(path)?.received().bytes)).sum()
}
