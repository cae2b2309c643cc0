//! Frames of a session that are authentic: what their messages lead to.

use std::time::Instant;

use mpt_wire::control::{
    ArrivedEntry, Entries, Message, MissingEntry, Reason, ReceivedEntry, SentEntry, frame, messages,
};

use super::send::Arrival;
use crate::session::OpenError;
use crate::session::engine::Destination;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::life::session::Session;
use crate::session::engine::paths::anchor::Anchor;
use crate::session::engine::paths::candidate::Candidate;
use crate::session::engine::paths::link::Link;
use crate::session::engine::paths::locating::is_learnt;
use crate::session::engine::paths::path::SessionPath;
use crate::session::engine::paths::source::Source;
use crate::session::engine::shared::Shared;
use crate::{DeviceSink, Tunnels};

/// What a frame leads to for the session as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing more.
    Done,
    /// The peer said goodbye.
    Goodbye(Reason),
}

/// What the messages of a frame ask for.
#[derive(Default)]
struct Wanted<'a> {
    /// The clock of the frame's times.
    clock: Option<(u32, u32)>,
    arrived: Option<(u32, Entries<'a, ArrivedEntry>)>,
    received: Option<Entries<'a, ReceivedEntry>>,
    missing: Option<Entries<'a, MissingEntry>>,
    sent_up_to: Option<Entries<'a, SentEntry>>,
    /// The peer keeps what it has sent.
    kept: bool,
    echo: Option<u64>,
    /// The peer asks for a survey of this path, of so many probes.
    survey: Option<u16>,
    acknowledge: Option<u32>,
    moved: bool,
    /// The address of a session without paths has answered a challenge.
    anchored: bool,
    goodbye: Option<Reason>,
}

impl Session {
    /// A sealed frame has come for the keys at `place`.
    #[expect(clippy::too_many_arguments, reason = "a frame is all of that")]
    pub(crate) fn handle_sealed<P: Copy, S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        place: Place,
        source: Source,
        sealed: &frame::Sealed<'_>,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
        sink: &mut S,
    ) -> Outcome {
        let mut buffer = std::mem::take(&mut shared.opened);
        let outcome = 'frame: {
            let Some(keys) = self.keys.at_mut(place) else { break 'frame Outcome::Done };
            let opened = match keys.transport.open(sealed, &mut buffer) {
                Ok(opened) => opened,
                Err(error) => {
                    let counters = &mut shared.counters;
                    match error {
                        OpenError::Index => counters.unknown_index += 1,
                        OpenError::Replayed => counters.replayed += 1,
                        OpenError::Unauthentic => counters.unauthentic += 1,
                        OpenError::TooManyPaths => counters.unknown_path += 1,
                        OpenError::Room => counters.malformed += 1,
                    }
                    break 'frame Outcome::Done;
                }
            };
            // A frame takes effect as a whole or not at all.
            if messages(opened.payload).any(|message| message.is_err()) {
                shared.counters.malformed += 1;
                break 'frame Outcome::Done;
            }
            let place = self.promote(now, place, shared, tunnels);
            self.handle_opened(now, place, source, &opened, shared, tunnels, sink)
        };
        shared.opened = buffer;
        outcome
    }

    #[expect(clippy::too_many_arguments, reason = "a frame is all of that")]
    fn handle_opened<P: Copy, S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        place: Place,
        source: Source,
        opened: &crate::session::Opened<'_>,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
        sink: &mut S,
    ) -> Outcome {
        let Source { socket, remote } = source;
        let Some(keys) = self.keys.at_mut(place) else { return Outcome::Done };
        let ours = keys.is_initiator();
        let path = self.find_path(now, ours, opened.path, opened.fresh, source, tunnels);
        let len = Arrival::frame_len(opened.payload.len());
        let mut arrival = Arrival {
            place,
            wire_id: opened.path,
            destination: Destination::Address { socket, remote },
            len: opened.payload.len(),
            path,
            at_home: true,
            room: len,
        };
        match path {
            Some(i) => {
                let Some(path) = self.paths.get_mut(i) else { return Outcome::Done };
                path.frames = path.frames.wrapping_add(1);
                path.frame_bytes += len as u64;
                path.liveness.handle_frame(now);
                arrival.destination = path.answer_to(socket, remote);
                arrival.at_home = !path.is_elsewhere(socket, remote);
                if arrival.at_home {
                    arrival.room = usize::MAX;
                }
            }
            None => match self.link.hear(source, (opened.path, opened.fresh, len)) {
                Some(room) => arrival.room = room,
                None => shared.counters.unknown_path += 1,
            },
        }
        let mut wanted = Wanted::default();
        for message in messages(opened.payload).flatten() {
            self.handle_message(
                now,
                ours,
                &mut arrival,
                source,
                message,
                &mut wanted,
                shared,
                tunnels,
                sink,
            );
        }
        if let Some(reason) = wanted.goodbye.filter(|_| place == Place::Current) {
            return Outcome::Goodbye(reason);
        }
        let mut challenge = None;
        if let Some(i) = path {
            if wanted.moved {
                self.move_path(now, i, source, shared, tunnels);
                let Some(path) = self.paths.get(i) else { return Outcome::Done };
                arrival.destination = path.answer_to(socket, remote);
                arrival.at_home = !path.is_elsewhere(socket, remote);
                if arrival.at_home {
                    arrival.room = usize::MAX;
                }
            } else if opened.fresh
                && !arrival.at_home
                && let Some(path) = self.paths.get_mut(i).filter(|path| is_learnt(path, tunnels))
            {
                challenge = path.challenge(now, source, || shared.random.u64());
            }
        } else if let Link::Apart { anchor, candidate } = &mut self.link {
            if wanted.anchored {
                *anchor = Some(Anchor::proved(source, opened.path));
                *candidate = None;
                arrival.room = usize::MAX;
            } else if opened.fresh && arrival.room != usize::MAX {
                challenge = Candidate::challenge(candidate, now, source, || shared.random.u64());
            }
        }
        if let Wanted {
            clock: Some((clock, _)),
            arrived: Some((time, arrived)),
            received: Some(received),
            ..
        } = &wanted
        {
            self.handle_feedback(
                now,
                ours,
                (*clock, *time),
                arrived.iter(),
                received.iter(),
                tunnels,
            );
        }
        if let Wanted {
            clock: Some((clock, time)),
            received: Some(received),
            missing: Some(missing),
            ..
        } = &wanted
        {
            let clock = (*clock, *time);
            self.handle_missing(now, ours, clock, received, missing, shared, tunnels);
        }
        if let Some(sent_up_to) = &wanted.sent_up_to {
            self.handle_sent_up_to(ours, sent_up_to.iter(), tunnels);
            if !wanted.kept {
                self.handle_none_kept(tunnels);
            }
        }
        if wanted.echo.is_some() {
            // The peer probes often because of traffic that may be the first here.
            self.wake_if_used(now, tunnels);
        }
        match (wanted.echo, wanted.acknowledge) {
            (Some(token), acknowledge) => {
                let at_home = arrival.at_home;
                let survey = wanted.survey.filter(|&it| at_home && shared.surveys.permits(now, it));
                let with = (challenge, acknowledge, survey);
                self.send_echo(now, shared, &mut arrival, token, with, tunnels);
                let doubtful = |path: &SessionPath| path.liveness.is_doubtful(now);
                if let Some(i) = path.filter(|&i| self.paths.get(i).is_some_and(doubtful)) {
                    self.send_report_elsewhere(shared, place, i, tunnels);
                }
            }
            (None, Some(generation)) => self.send_ack(shared, &mut arrival, generation),
            (None, None) => {
                if let Some(token) = challenge {
                    self.send_challenge(shared, &mut arrival, token);
                }
            }
        }
        self.link.set_credit(source, arrival.room);
        if wanted.moved || wanted.anchored {
            self.send_withheld(now, shared);
        }
        self.settle(now, shared, tunnels);
        Outcome::Done
    }

    #[expect(clippy::too_many_arguments, reason = "messages concern everything")]
    fn handle_message<'a, P: Copy, S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        ours: bool,
        arrival: &mut Arrival,
        source: Source,
        message: Message<'a>,
        wanted: &mut Wanted<'a>,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
        sink: &mut S,
    ) {
        match message {
            Message::Pad { .. } => {}
            // To answer for a path that does not exist here would keep it up at the other end.
            Message::Probe { .. } if arrival.path.is_none() && self.link.connection().is_some() => {
            }
            Message::Probe { token } => wanted.echo = Some(token),
            Message::Echo { token } => {
                let Some(i) = arrival.path else {
                    wanted.anchored |= self.link.is_met(now, source, token);
                    return;
                };
                let Some(path) = self.paths.get_mut(i) else { return };
                if arrival.at_home && path.discovery.handle_echo(now, token) {
                    // It says nothing but how large the path's packets may be.
                } else if path.meets_challenge(now, source, token) {
                    wanted.moved = true;
                } else if let Some(rtt) = path.survey.handle_echo(now, token) {
                    path.liveness.note_rtt(rtt);
                } else {
                    path.liveness.handle_echo(now, token);
                    if let Some(test) = self.test.as_mut().filter(|test| test.path == path.id) {
                        test.speed.handle_echo(token);
                    }
                }
            }
            Message::Report(entries) => {
                for entry in entries.iter() {
                    let place = self.paths.named(ours, entry.path_id);
                    if let Some(path) = place.and_then(|i| self.paths.get_mut(i)) {
                        path.liveness.handle_report(now, entry.frames);
                        path.peer_traffic = (entry.sent, entry.received);
                        if let Some(test) = self.test.as_mut().filter(|test| test.path == path.id) {
                            test.speed.handle_report(now, entry.frames);
                        }
                    }
                }
            }
            Message::Paths { generation, epoch, from, entries } => {
                let ordinal = self.keys.at_mut(arrival.place).map(|keys| keys.ordinal);
                if let Some(ordinal) = ordinal.filter(|_| self.link.connection().is_some()) {
                    let head = (generation, epoch, from);
                    self.handle_table(now, (ours, ordinal), head, entries.iter(), tunnels, sink);
                    wanted.acknowledge = self.tables.heard.generation();
                }
            }
            Message::PathsAck { generation } => {
                self.tables.acknowledged(generation);
            }
            Message::Request { id, offset, body } => {
                self.handle_request(now, arrival, id, offset, body, shared);
            }
            Message::Result { id, offset, total, chunk } => {
                self.handle_result(now, id, (offset, total), chunk, shared);
            }
            // Behind a probe it is a question, and behind an echo an answer.
            Message::Survey { probes } if wanted.echo.is_some() => wanted.survey = Some(probes),
            Message::Survey { probes } => {
                if let Some(path) = arrival.path.and_then(|i| self.paths.get_mut(i)) {
                    path.survey.handle_permission(now, probes);
                }
            }
            Message::Goodbye { reason } => wanted.goodbye = Some(reason),
            Message::Departed { interval, stamps } => {
                self.handle_departed(now, interval, stamps.iter(), shared, tunnels);
            }
            Message::SentUpTo(entries) => {
                self.handle_told(now, entries.iter(), tunnels);
                wanted.sent_up_to = Some(entries);
            }
            Message::Missing(entries) => wanted.missing = Some(entries),
            Message::Refused(entries) => self.handle_refused(now, &entries, tunnels),
            Message::Symbol(symbol) => self.handle_symbol(now, &symbol, tunnels),
            Message::Kept { from, loss } => {
                wanted.kept = true;
                self.handle_kept(now, from, loss, tunnels);
            }
            Message::Arrived { time, entries } => wanted.arrived = Some((time, entries)),
            Message::Received(entries) => wanted.received = Some(entries),
            Message::Clock { id, time } => {
                wanted.clock = Some((id, time));
                if let Some(i) = arrival.path.filter(|_| arrival.at_home) {
                    self.handle_clock(now, i, (id, time), shared);
                }
            }
        }
    }
}
