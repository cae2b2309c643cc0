//! The answers to a frame.

use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::{Message, Writer};

use super::reply::Reply;
use crate::session::Random;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::measurement::train;
use crate::session::engine::paths::path::SessionPath;
use crate::session::engine::receive::arrival::Arrival;
use crate::session::engine::receive::context::Context;
use crate::session::engine::receive::wanted::Wanted;
use crate::session::engine::shared::Shared;
use crate::{DeviceSink, Times, Tunnels};

impl Session {
    /// Answers a frame as it wants, and with a challenge if there is one.
    pub(crate) fn answer_frame<P: Copy, S: DeviceSink<P>>(
        &mut self,
        arrival: &mut Arrival,
        wanted: Wanted,
        challenge: Option<u64>,
        context: &mut Context<'_, P, S>,
    ) {
        let Context { at, shared, tunnels, .. } = context;
        let now = at.now();
        match (wanted.echo, wanted.acknowledge, challenge) {
            (Some(token), acknowledge, challenge) => {
                // The peer probes often because of traffic that may be the first here.
                self.wake_if_used(now, tunnels);
                let at_home = arrival.at_home;
                let survey = wanted.survey.filter(|&it| at_home && shared.surveys.permits(now, it));
                let with = (challenge, acknowledge, survey);
                self.send_echo(*at, shared, arrival, token, with, tunnels);
                let doubtful = |path: &SessionPath| path.liveness.is_doubtful(now);
                let path = arrival.path.filter(|&i| self.paths.get(i).is_some_and(doubtful));
                if let Some(i) = path {
                    self.send_report_elsewhere(shared, arrival.reply.place, i, tunnels);
                }
            }
            (None, Some(generation), _) => self.send_ack(shared, &mut arrival.reply, generation),
            (None, None, Some(token)) => self.send_challenge(shared, &mut arrival.reply, token),
            (None, None, None) => {}
        }
    }

    /// Answers a probe, with as much else as fits into a frame no longer than that of the probe.
    fn send_echo<P: Copy>(
        &mut self,
        at: Times,
        shared: &mut Shared,
        arrival: &mut Arrival,
        token: u64,
        (challenge, acknowledge, survey): (Option<u64>, Option<u32>, Option<u16>),
        tunnels: &Tunnels<P>,
    ) {
        let Arrival { len, path, at_home, .. } = *arrival;
        let wire_id = arrival.reply.wire_id;
        let report = path.map(|i| self.report_entry(wire_id, i, tunnels));
        let now = at.now();
        let clock = shared.clock.stamp(now);
        let came = (len == train::PAYLOAD_LEN).then(|| shared.clock.micros(at.arrived()));
        let mut probes = 0;
        let write = |session: &mut Self, writer: &mut Writer<'_>, random: &mut Random| {
            if writer.push(&Message::Echo { token }).is_err() {
                return false;
            }
            if let Some(probes) = survey {
                let _ = writer.push(&Message::Survey { probes });
            }
            if let Some(time) = came {
                let _ = writer.push(&Message::Came { token, time });
            }
            if let Some(token) = challenge {
                probes += u64::from(writer.push(&Message::Probe { token }).is_ok());
            }
            if let Some(generation) = acknowledge {
                let _ = writer.push(&Message::PathsAck { generation });
            }
            if let Some(report) = report {
                let _ = writer.push_report([report].into_iter());
            }
            let path = path.filter(|_| at_home).and_then(|i| session.paths.get_mut(i));
            if let Some(path) = path.filter(|path| path.liveness.may_attach_probe(now)) {
                let token = random.u64();
                if writer.push(&Message::Probe { token }).is_ok() {
                    path.liveness.attach_probe(now, token);
                    probes += 1;
                    let _ = writer.push(&clock);
                }
            }
            true
        };
        let sent = self.reply(shared, &mut arrival.reply, write, len);
        shared.counters.echoes_sent += u64::from(sent);
        shared.counters.probes_sent += probes * u64::from(sent);
    }

    /// Sends a challenge to the address that a frame came from.
    fn send_challenge(&mut self, shared: &mut Shared, reply: &mut Reply, token: u64) {
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            writer.push(&Message::Probe { token }).is_ok()
        };
        let sent = self.reply(shared, reply, write, MAX_PAYLOAD_LEN);
        shared.counters.probes_sent += u64::from(sent);
    }

    /// Sends the report of a path over another one that works: what is sent on it may not arrive, and the
    /// peer wants to know whether its own frames do.
    fn send_report_elsewhere<P: Copy>(
        &mut self,
        shared: &mut Shared,
        place: Place,
        i: usize,
        tunnels: &Tunnels<P>,
    ) {
        let Some((wire_id, _)) = self.way(place, i) else { return };
        let other = self.paths.iter().enumerate().filter(|&(at, path)| at != i && path.is_up());
        let other = other.map(|(at, _)| at).find_map(|other| self.way(place, other));
        let Some((other_id, destination)) = other else { return };
        let report = self.report_entry(wire_id, i, tunnels);
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            writer.push_report([report].into_iter()).is_ok()
        };
        self.send(shared, place, other_id, destination, write, MAX_PAYLOAD_LEN);
    }

    /// Acknowledges a table of paths.
    fn send_ack(&mut self, shared: &mut Shared, reply: &mut Reply, generation: u32) {
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            writer.push(&Message::PathsAck { generation }).is_ok()
        };
        self.reply(shared, reply, write, MAX_PAYLOAD_LEN);
    }
}
