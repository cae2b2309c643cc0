//! A survey of a path: some hundred probes in quick succession, which show before there is any data whether the
//! path loses packets, and what its delays differ by.
//!
//! A flow of TCP is held from its first packet on for as long as repairs take, or it is not; what changes in its
//! slow start ends that. Without a survey a tunnel that has just begun would have to hold every flow.
//!
//! Probes in such numbers cost the peer, so it is asked. Both ends bound the surveys that they ask for and permit.

use std::time::{Duration, Instant};

use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::{Message, Writer};

use super::keys::Place;
use super::send::PROBE_LEN;
use super::session::Session;
use super::shared::Shared;
use crate::Tunnels;
use crate::adaptive::QUICK;
use crate::bucket::Bucket;
use crate::liveness::State;

/// Probes of a survey: a path that loses half a per cent in each direction answers all of them once in fifty times.
const PROBES: u16 = 400;
/// Time between two of them: they are 250 kbit/s.
const INTERVAL: Duration = Duration::from_millis(4);
/// Probes that are sent at once where this process had to wait.
const AT_ONCE: u16 = 4;
/// A question without an answer is asked again after this time.
const AGAIN: Duration = Duration::from_secs(10);
/// The peer has this time to answer, and an echo is waited for so much longer than usual.
const ANSWER: Duration = Duration::from_secs(2);
const LATE: Duration = Duration::from_millis(200);
/// Time after which a path that was out of use is surveyed again.
const OLD: Duration = Duration::from_secs(60);
/// Surveys that all sessions together ask for or permit: one in this time, ...
const EVERY: Duration = Duration::from_millis(100);
/// ... and so many at once.
const BURST: u32 = 10;
/// The place in a token that tells which probe it is.
const INDEX: u64 = 0xffff;

/// Bounds the surveys of all sessions.
#[derive(Debug, Default)]
pub(super) struct SurveyBudget(Bucket);

impl SurveyBudget {
    /// Whether one more survey may take place.
    fn take(&mut self, now: Instant) -> bool {
        self.0.take(now, EVERY, BURST)
    }

    /// Whether the peer may send so many probes.
    pub(super) fn permits(&mut self, now: Instant, probes: u16) -> bool {
        probes <= PROBES && self.take(now)
    }
}

/// The survey of one path.
#[derive(Debug)]
pub(super) enum Survey {
    /// It is wanted, from a time on.
    Wanted(Instant),
    /// The peer was asked at a time, by a probe with this token.
    Asked { at: Instant, token: u64 },
    /// The probes are on their way.
    Running(Box<Running>),
    /// It ended at a time, and showed what half of the round-trip times did not exceed.
    Done { at: Instant, usual: Option<Duration> },
}

/// The probes of a survey.
#[derive(Debug)]
pub(super) struct Running {
    /// That of all probes, but for [`INDEX`].
    token: u64,
    /// By probe: when it left, and the time until its echo came.
    sent: Vec<(Instant, Option<Duration>)>,
    next: Instant,
}

impl Survey {
    /// A path that has just begun.
    pub(super) const fn new(now: Instant) -> Self {
        Self::Wanted(now)
    }

    /// The path may be used again after a pause.
    pub(super) fn resume(&mut self, now: Instant) {
        if !matches!(self, Self::Done { at, .. } if now.saturating_duration_since(*at) < OLD) {
            *self = Self::Wanted(now);
        }
    }

    /// An echo has come: how long it took, if it belongs to the survey.
    pub(super) fn handle_echo(&mut self, now: Instant, token: u64) -> Option<Duration> {
        match self {
            Self::Asked { at, token: asked } if *asked == token => {
                Some(now.saturating_duration_since(*at))
            }
            Self::Running(running) if running.token == token & !INDEX => {
                let (sent, came) = running.sent.get_mut((token & INDEX) as usize)?;
                let rtt = now.saturating_duration_since(*sent);
                came.replace(rtt).is_none().then_some(rtt)
            }
            _ => None,
        }
    }

    /// The peer permits the survey that it was asked for last.
    pub(super) fn handle_permission(&mut self, now: Instant, probes: u16) {
        if let Self::Asked { token, .. } = *self
            && probes >= PROBES
        {
            let sent = Vec::with_capacity(PROBES.into());
            *self = Self::Running(Box::new(Running { token: token & !INDEX, sent, next: now }));
        }
    }

    /// The usual round-trip time of a path without load, once it is known.
    pub(super) fn usual_rtt(&self) -> Option<Duration> {
        match *self {
            Self::Done { usual, .. } => usual,
            _ => None,
        }
    }

    /// When there is something to do for it.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Running(running) => Some(running.next),
            _ => None,
        }
    }
}

impl Session {
    /// Asks for the surveys that are wanted, sends what is due of those that run, and ends them.
    pub(super) fn drive_surveys<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let wanted = self.connection.is_some_and(|id| tunnels.is_repairing(id));
        for i in 0..self.paths.len() {
            match &self.paths[i].survey {
                Survey::Wanted(from) if wanted && *from <= now => {
                    self.ask_for_survey(now, i, shared);
                }
                Survey::Asked { at, .. } if now >= *at + ANSWER => {
                    self.paths[i].survey = Survey::Wanted(now + AGAIN);
                }
                Survey::Running(running) if running.next <= now => {
                    self.continue_survey(now, i, shared, tunnels);
                }
                _ => {}
            }
        }
    }

    fn ask_for_survey(&mut self, now: Instant, i: usize, shared: &mut Shared) {
        let path = &mut self.paths[i];
        let Some(rtt) = path.liveness.rtt().minimum() else { return };
        if path.is_suspended() || path.liveness.state() != State::Up || !self.open {
            return;
        }
        if rtt < QUICK {
            path.survey = Survey::Done { at: now, usual: None };
            return;
        }
        let Some(place) = self.keys.sending(now) else { return };
        if !shared.surveys.take(now) {
            path.survey = Survey::Wanted(now + shared.jitter(ANSWER));
            return;
        }
        let token = shared.random.u64() | INDEX;
        path.survey = Survey::Asked { at: now, token };
        self.send_survey_probe(now, i, (place, token), Some(PROBES), shared);
    }

    fn continue_survey<P: Copy>(
        &mut self,
        now: Instant,
        i: usize,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let expected = self.paths[i].liveness.rtt().longest_expected().unwrap_or(ANSWER);
        for _ in 0..AT_ONCE {
            let Survey::Running(running) = &mut self.paths[i].survey else { return };
            if running.next > now {
                return;
            }
            if running.sent.len() == usize::from(PROBES) {
                let mut rtts: Vec<_> = running.sent.iter().filter_map(|&(_, rtt)| rtt).collect();
                let lost = PROBES - rtts.len() as u16;
                rtts.sort_unstable();
                let usual = rtts.get(rtts.len() / 2).copied();
                self.paths[i].survey = Survey::Done { at: now, usual };
                tunnels.set_path_surveyed(now, self.paths[i].id, PROBES, lost);
                self.announce_again(now);
                return;
            }
            let token = running.token | running.sent.len() as u64;
            running.sent.push((now, None));
            running.next += INTERVAL;
            if running.sent.len() == usize::from(PROBES) {
                running.next = now + expected + LATE;
            }
            let Some(place) = self.keys.sending(now) else { continue };
            self.send_survey_probe(now, i, (place, token), None, shared);
        }
        if let Survey::Running(running) = &mut self.paths[i].survey {
            running.next = running.next.max(now + INTERVAL);
        }
    }

    fn send_survey_probe(
        &mut self,
        now: Instant,
        i: usize,
        (place, token): (Place, u64),
        ask: Option<u16>,
        shared: &mut Shared,
    ) {
        let Some((wire_id, destination)) = self.way(place, i) else { return };
        let clock = shared.clock.stamp(now);
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            let _ = writer.push(&Message::Probe { token });
            if let Some(probes) = ask {
                let _ = writer.push(&Message::Survey { probes });
            }
            let _ = writer.push(&clock);
            let _ = writer.pad_to(PROBE_LEN);
            true
        };
        let sent = self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
        shared.counters.probes_sent += u64::from(sent);
    }
}
