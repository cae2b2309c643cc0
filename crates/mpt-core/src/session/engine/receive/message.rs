//! The messages of a frame, one by one.

use mpt_wire::control::{Message, ReportEntry};

use super::arrival::Arrival;
use super::context::Context;
use super::told::Told;
use super::wanted::Wanted;
use crate::session::engine::lifecycle::session::Session;
use crate::{DeviceSink, Times};

impl Session {
    /// Does what one message says. Facts that it tells only together with others, and its requests, are
    /// gathered in `told` and `wanted`.
    pub(crate) fn handle_message<'a, P: Copy, S: DeviceSink<P>>(
        &mut self,
        arrival: &mut Arrival,
        message: Message<'a>,
        told: &mut Told<'a>,
        wanted: &mut Wanted,
        context: &mut Context<'_, P, S>,
    ) {
        let Context { at, shared, tunnels, sink } = context;
        let (at, now) = (*at, at.now());
        match message {
            Message::Pad { .. } => {}
            Message::Probe { token } => {
                // To answer for a path that does not exist here would keep it up at the other end.
                if arrival.path.is_some() || self.link.connection().is_none() {
                    wanted.echo = Some(token);
                }
            }
            Message::Echo { token } => wanted.proved |= self.handle_echo(at, arrival, token),
            Message::Report(entries) => self.handle_report(at, arrival.ours, entries.iter()),
            Message::Paths { generation, epoch, from, entries } => {
                let ordinal = self.keys.at_mut(arrival.reply.place).map(|keys| keys.ordinal);
                if let Some(ordinal) = ordinal.filter(|_| self.link.connection().is_some()) {
                    let names = (arrival.ours, ordinal);
                    let head = (generation, epoch, from);
                    self.handle_table(now, names, head, entries.iter(), tunnels, *sink);
                    wanted.acknowledge = self.tables.heard.generation();
                }
            }
            Message::PathsAck { generation } => self.tables.acknowledged(generation),
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
                    let data = tunnels.path_data_sent(path.id);
                    path.survey.handle_permission(now, probes, data);
                }
            }
            Message::Came { token, time } => {
                if let Some(path) = arrival.path.and_then(|i| self.paths.get_mut(i)) {
                    path.survey.handle_came(token, time);
                }
            }
            Message::Goodbye { reason } => wanted.goodbye = Some(reason),
            Message::Departed { interval, stamps } => {
                self.handle_departed(now, interval, stamps.iter(), shared, tunnels);
            }
            Message::SentUpTo(entries) => {
                self.handle_last_sent(now, entries.iter(), tunnels);
                told.sent_up_to = Some(entries);
            }
            Message::Missing(entries) => told.missing = Some(entries),
            Message::MissingMap(map) => told.missing_map = Some(map),
            Message::Refused(entries) => self.handle_refused(now, &entries, tunnels),
            Message::Symbol(symbol) => self.handle_symbol(now, &symbol, tunnels),
            Message::Kept { from, loss } => {
                told.kept = true;
                self.handle_kept(now, from, loss, tunnels);
            }
            Message::Arrived { time, entries } => told.arrived = Some((time, entries)),
            Message::Received(entries) => told.received = Some(entries),
            Message::Clock { id, time } => {
                told.clock = Some((id, time));
                if let Some(i) = arrival.path.filter(|_| arrival.at_home) {
                    self.handle_clock(at, i, (id, time), shared, tunnels);
                }
            }
        }
    }

    /// A probe, or a challenge, of this end is answered. Returns true if it was the challenge to the
    /// address that the frame came from.
    fn handle_echo(&mut self, at: Times, arrival: &Arrival, token: u64) -> bool {
        let now = at.now();
        let source = arrival.source;
        let Some(i) = arrival.path else { return self.link.is_met(now, source, token) };
        let Some(path) = self.paths.get_mut(i) else { return false };
        if arrival.at_home && path.discovery.handle_echo(now, token) {
            // It says nothing but how large the path's packets may be.
            return false;
        }
        if path.meets_challenge(now, source, token) {
            return true;
        }
        if let Some(rtt) = path.survey.handle_echo(at.arrived(), token) {
            path.liveness.note_rtt(rtt);
            return false;
        }
        path.liveness.handle_echo(at, token);
        let id = path.id;
        if let Some(test) = self.test_of(id) {
            test.speed.handle_echo(token);
        }
        false
    }

    /// The peer reports how many frames have come on its paths. `ours`: by names that this end gave.
    fn handle_report(&mut self, at: Times, ours: bool, entries: impl Iterator<Item = ReportEntry>) {
        for entry in entries {
            let place = self.paths.named(ours, entry.path_id);
            let Some(path) = place.and_then(|i| self.paths.get_mut(i)) else { continue };
            path.liveness.handle_report(at.now(), entry.frames);
            path.peer_traffic = (entry.sent, entry.received);
            let id = path.id;
            if let Some(test) = self.test_of(id) {
                test.speed.handle_report(at, entry.frames);
            }
        }
    }
}
