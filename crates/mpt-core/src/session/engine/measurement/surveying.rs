//! The conduct of surveys: the peer is asked, probes are sent, and what they have shown is passed on.

use std::time::{Duration, Instant};

use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::{Message, Writer};
use mpt_wire::gre;
use smallvec::{SmallVec, smallvec};

use super::survey::{self, Again, Answers, Due, INDEX, PROBES, SINGLE, Survey};
use super::train::{self, Spacing};
use crate::Tunnels;
use crate::adaptive::{QUICK, Surveyed};
use crate::path::model::Capacity;
use crate::path::mtu;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::{PROBE_LEN, Session};
use crate::session::engine::shared::Shared;

/// Time between two of them: they are 250 kbit/s.
const INTERVAL: Duration = Duration::from_millis(4);
/// Probes that are sent at once where this process had to wait.
const AT_ONCE: u16 = 4;
/// A question without an answer is asked again after this time.
const AGAIN: Duration = Duration::from_secs(10);
/// A question whose echo does not come in time is asked so many times in a row: it, or the echo, was lost.
const QUESTIONS: u8 = 4;
/// Time after a train until it has left the path.
const DRAINS: Duration = Duration::from_millis(50);
/// Time in which the peer has to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// An echo is waited for so much longer than usual.
const LATE: Duration = Duration::from_millis(200);

/// The kinds of probes of a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It asks the peer for its permission.
    Question,
    Single,
    InTrain,
}

impl Session {
    /// Asks for the surveys that are wanted, sends what is due of those that run, and ends them.
    pub(crate) fn drive_surveys<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let wanted = self.link.connection().is_some_and(|id| tunnels.is_repairing(id));
        for i in 0..self.paths.len() {
            match &self.paths[i].survey {
                Survey::Wanted(from) if wanted && *from <= now => {
                    self.ask_for_survey(now, i, QUESTIONS, shared);
                }
                Survey::Asked { again: Some(Again { at, left }), .. } if *at <= now => {
                    self.ask_for_survey(now, i, *left, shared);
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

    /// Asks the peer for a survey of path `i`, which it may be asked for `questions` times in a row.
    fn ask_for_survey(&mut self, now: Instant, i: usize, questions: u8, shared: &mut Shared) {
        let path = &mut self.paths[i];
        if let Survey::Asked { again, .. } = &mut path.survey {
            *again = None;
        }
        let Some(rtt) = path.liveness.rtt().minimum() else { return };
        let expected = path.liveness.rtt().longest_expected().unwrap_or(ANSWER);
        if path.is_suspended() || !path.is_up() || !self.origin.is_open() {
            return;
        }
        if rtt < QUICK {
            path.survey = Survey::Done { at: now, answers: None };
            return;
        }
        let Some(place) = self.keys.sending(now) else { return };
        if !shared.surveys.take(now) {
            path.survey = Survey::Wanted(now + shared.jitter(ANSWER));
            return;
        }
        let token = shared.random.u64() | INDEX;
        let left = questions.saturating_sub(1);
        let again = (left > 0).then(|| Again { at: now + expected, left });
        path.survey = Survey::Asked { at: now, token, again };
        self.send_survey_probe(now, i, (place, token), Kind::Question, shared);
    }

    fn continue_survey<P: Copy>(
        &mut self,
        now: Instant,
        i: usize,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let expected = self.paths[i].liveness.rtt().longest_expected().unwrap_or(ANSWER);
        let data = tunnels.path_data_sent(self.paths[i].id);
        for _ in 0..AT_ONCE {
            let Survey::Running(running) = &mut self.paths[i].survey else { return };
            if running.next > now {
                return;
            }
            let (tokens, kind): (SmallVec<[u64; 32]>, _) = match running.due() {
                Due::Single => {
                    running.next += INTERVAL;
                    (smallvec![running.begin_single(now)], Kind::Single)
                }
                Due::Train => {
                    running.next = now + DRAINS;
                    (running.begin_train(data).collect(), Kind::InTrain)
                }
                Due::Nothing => return self.end_survey(now, i, tunnels),
            };
            if running.due() == Due::Nothing {
                running.next = now + expected + LATE;
            }
            let Some(place) = self.keys.sending(now) else { continue };
            for token in tokens {
                self.send_survey_probe(now, i, (place, token), kind, shared);
            }
        }
        if let Survey::Running(running) = &mut self.paths[i].survey {
            running.next = running.next.max(now + INTERVAL);
        }
    }

    fn end_survey<P: Copy>(&mut self, now: Instant, i: usize, tunnels: &mut Tunnels<P>) {
        let Survey::Running(running) = &self.paths[i].survey else { return };
        let mut rtts = running.rtts();
        rtts.sort_unstable();
        let lost = SINGLE - rtts.len() as u16;
        let variation = survey::variation(&rtts);
        let deviation = Duration::from_secs_f64(variation / 1e6);
        let answers = rtts.get(rtts.len() / 2).map(|&usual| Answers { usual, deviation });
        let spacing = running.spacing();
        let id = self.paths[i].id;
        let outer = tunnels.path(id).map(|path| path.config().outer());
        let capacity = spacing.zip(outer).map(|(Spacing { usual, least, bound }, outer)| {
            let gre = gre::Repr::control(self.identity.key).header_len();
            let bytes = f64::from(mtu::outer(train::FRAME_LEN as u16, outer, gre as u16));
            let at_most = |least: f64| if least > 0.0 { bytes / least } else { f64::INFINITY };
            Capacity { usual: bytes / usual, most: at_most(least), bound: at_most(bound) }
        });
        self.paths[i].survey = Survey::Done { at: now, answers };
        let surveyed = Surveyed { probes: SINGLE, lost, variation, capacity };
        tunnels.set_path_surveyed(now, id, &surveyed);
        self.announce_again(now);
    }

    fn send_survey_probe(
        &mut self,
        now: Instant,
        i: usize,
        (place, token): (Place, u64),
        kind: Kind,
        shared: &mut Shared,
    ) {
        let Some((wire_id, destination)) = self.way(place, i) else { return };
        let clock = shared.clock.stamp(now);
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            let _ = writer.push(&Message::Probe { token });
            if kind == Kind::Question {
                let _ = writer.push(&Message::Survey { probes: PROBES });
            }
            if kind == Kind::InTrain {
                // The peer takes no delay from it, since the probes of a train wait for each other.
                let _ = writer.pad_to(train::PAYLOAD_LEN);
            } else {
                let _ = writer.push(&clock);
                let _ = writer.pad_to(PROBE_LEN);
            }
            true
        };
        let sent = self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN);
        shared.counters.probes_sent += u64::from(sent);
    }
}
