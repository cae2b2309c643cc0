//! The frames that a session sends under its keys.

use std::time::Instant;

use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::{Message, Reason, ReportEntry, Writer};
use smallvec::SmallVec;

use crate::Tunnels;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::{PROBE_LEN, Session, WITHOUT_PATH};
use crate::session::engine::shared::Shared;
use crate::session::engine::{Destination, Random, SessionPathId};

/// Paths in the report of a probe.
const REPORTED: usize = 8;

impl Session {
    /// Seals messages and queues the frame.
    pub(crate) fn send(
        &mut self,
        shared: &mut Shared,
        place: Place,
        wire_id: SessionPathId,
        destination: Destination,
        messages: impl FnOnce(&mut Self, &mut Writer<'_>, &mut Random) -> bool,
        limit: usize,
    ) -> bool {
        self.send_len(shared, place, wire_id, destination, messages, limit).is_some()
    }

    /// Seals messages and queues the frame; gives the length of the messages.
    pub(crate) fn send_len(
        &mut self,
        shared: &mut Shared,
        place: Place,
        wire_id: SessionPathId,
        destination: Destination,
        messages: impl FnOnce(&mut Self, &mut Writer<'_>, &mut Random) -> bool,
        limit: usize,
    ) -> Option<usize> {
        let mut payload = std::mem::take(&mut shared.payload);
        payload.clear();
        let limit = limit.min(MAX_PAYLOAD_LEN);
        let key = self.identity.key;
        let sent = messages(self, &mut Writer::new(&mut payload, limit), &mut shared.random)
            && self.keys.at_mut(place).is_some_and(|keys| {
                shared.outbox.send(&mut shared.counters, destination, key, |frame| {
                    keys.transport.seal(wire_id, &payload, frame).is_ok()
                })
            });
        if sent && self.test.is_some() {
            self.note_sent(place, wire_id, payload.len());
        }
        let len = sent.then_some(payload.len());
        shared.payload = payload;
        len
    }

    /// Returns the way of a path under these keys, if it can be used.
    pub(crate) fn way(&self, place: Place, i: usize) -> Option<(SessionPathId, Destination)> {
        let path = self.paths.get(i)?;
        let keys = match place {
            Place::Current => self.keys.current.as_ref(),
            Place::Previous => self.keys.previous.as_ref(),
            Place::Candidate(at) => self.keys.candidates.get(at),
        }?;
        path.remote()?;
        Some((path.wire_id(keys)?, Destination::Path(path.id)))
    }

    /// Sends a probe with this token on a path.
    pub(crate) fn send_probe<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        place: Place,
        i: usize,
        token: u64,
        tunnels: &Tunnels<P>,
    ) -> bool {
        let Some((wire_id, destination)) = self.way(place, i) else { return false };
        let report = self.report(place, i, tunnels);
        let clock = shared.clock.stamp(now);
        let write = |session: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            let _ = writer.push(&Message::Probe { token });
            let _ = writer.push(&clock);
            let _ = writer.push_report(report.iter().copied());
            session.write_table(writer);
            let _ = writer.pad_to(PROBE_LEN);
            true
        };
        let sent = self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
        shared.counters.probes_sent += u64::from(sent);
        sent
    }

    /// The table of paths, unless the peer has it. A table that does not fit is sent by itself.
    fn write_table(&self, writer: &mut Writer<'_>) {
        if let Some(own) = self.tables.unacknowledged() {
            let (generation, epoch) = (own.generation(), own.epoch());
            let entries = own.entries().iter().copied();
            let _ = writer.push_paths(generation, epoch, own.from(), entries);
        }
    }

    /// Sends the table of paths wherever it may get through: also where the administrator has taken
    /// a path down, which may be the only one.
    pub(crate) fn send_table(&mut self, now: Instant, shared: &mut Shared, place: Place) {
        for i in 0..self.paths.len() {
            if self.paths.get(i).is_none_or(|path| path.is_cut_off()) {
                continue;
            }
            let Some((wire_id, destination)) = self.way(place, i) else { continue };
            let write = |session: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
                session.write_table(writer);
                !writer.is_empty()
            };
            self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
        }
        self.tables.sent(now);
    }

    /// A way that is likely to work and leads to an address that is proved, another one each time.
    pub(crate) fn any_way(&mut self, place: Place) -> Option<(SessionPathId, Destination)> {
        let keys = self.keys.at_mut(place);
        if let Some(i) = keys.and_then(|keys| self.paths.any(keys)) {
            return self.way(place, i);
        }
        let anchor = self.link.proved_anchor()?;
        Some((anchor.path_id, anchor.destination()))
    }

    /// Says goodbye on every way there is.
    pub(crate) fn send_goodbye(&mut self, now: Instant, shared: &mut Shared, reason: Reason) {
        let Some(place) = self.keys.sending(now) else { return };
        let mut ways: SmallVec<[(SessionPathId, Destination); 4]> =
            (0..self.paths.len()).filter_map(|i| self.way(place, i)).collect();
        if ways.is_empty() {
            ways.extend(self.any_way(place));
        }
        for (wire_id, destination) in ways {
            let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
                writer.push(&Message::Goodbye { reason }).is_ok()
            };
            self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
        }
    }

    /// Sends a frame on every way, so that keys that this end began are confirmed.
    pub(crate) fn send_confirmation<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        place: Place,
        tunnels: &Tunnels<P>,
    ) {
        for i in 0..self.paths.len() {
            // A report that the peer does not take the path may be old, so only the state of this end counts.
            if self.paths.get(i).is_none_or(|path| path.is_down()) {
                continue;
            }
            let token = shared.random.u64();
            if self.send_probe(now, shared, place, i, token, tunnels)
                && let Some(path) = self.paths.get_mut(i)
            {
                path.liveness.attach_probe(now, token);
            }
        }
        if let Some(anchor) = self.link.proved_anchor() {
            let destination = anchor.destination();
            let token = shared.random.u64();
            // The probe is as long as that of a path: the peer has to challenge this address in its answer.
            let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
                writer.push(&Message::Probe { token }).is_ok() && writer.pad_to(PROBE_LEN).is_ok()
            };
            self.send(shared, place, WITHOUT_PATH, destination, write, MAX_PAYLOAD_LEN);
        }
        self.tables.sent(now);
    }

    /// Returns the report of a path, and of the others in turn.
    fn report<P: Copy>(
        &mut self,
        place: Place,
        own: usize,
        tunnels: &Tunnels<P>,
    ) -> SmallVec<[ReportEntry; REPORTED]> {
        let mut entries = SmallVec::new();
        let mut add = |session: &Self, i: usize| {
            if let Some((wire_id, _)) = session.way(place, i) {
                entries.push(session.report_entry(wire_id, i, tunnels));
            }
        };
        add(self, own);
        let others = (self.paths.len() - 1).min(REPORTED - 1);
        for _ in 0..others {
            let other = self.paths.next_reported(own);
            add(self, other);
        }
        entries
    }

    pub(crate) fn report_entry<P: Copy>(
        &self,
        path_id: SessionPathId,
        i: usize,
        tunnels: &Tunnels<P>,
    ) -> ReportEntry {
        let path = self.paths.get(i);
        let data = path.and_then(|path| tunnels.path(path.id));
        ReportEntry {
            path_id,
            frames: path.map_or(0, |path| path.received.frames),
            sent: data.map_or(0, |data| data.sent().packets),
            received: data.map_or(0, |data| data.received().packets),
        }
    }
}
