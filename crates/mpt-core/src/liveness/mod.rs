//! Whether one path works, in each direction (docs/liveness.md).
//!
//! [`Liveness`] is told what happens on a path and says when to send a probe, and what it holds of
//! the path. The **sending direction** works when the peer proves that it hears us there: by the
//! echo of a probe, or by a report, over any path, that more of our frames have arrived. Hence late
//! is not dead. The **receiving direction** works when authenticated frames arrive.
//!
//! The caller asks [`Liveness::next_timeout`] after every call; at that time, and after anything
//! that may have changed the state, it calls [`Liveness::handle_timeout`], and then sends a probe if
//! [`Liveness::poll_probe`] says so. It should take in what has arrived before it handles timeouts.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

mod hysteresis;
mod probes;
mod reports;
mod timing;
mod watch;

use std::time::{Duration, Instant};

use self::hysteresis::Hysteresis;
use self::probes::Probes;
use self::reports::Reports;
pub use self::timing::Timing;
use self::watch::Watch;
use crate::session::delay::rtt::Rtt;

/// Probes sent in quick succession when a path is started, so that one that is lost costs nothing.
const BURST: u32 = 3;
/// Time between those.
const BURST_INTERVAL: Duration = Duration::from_millis(20);
/// While traffic flows, a path that is not up is probed every keepalive for so long after the last
/// sign of hope: its start, its death, the first traffic, a proof, the first frame after silence.
const EAGER: Duration = Duration::from_secs(60);
/// The same while the connection is idle. Each proof counts as hope, so that a path that returns is
/// up soon nevertheless.
const EAGER_WHEN_IDLE: Duration = Duration::from_secs(5);
/// Time between two probes after that, while traffic flows.
const PATIENT_INTERVAL: Duration = Duration::from_millis(500);
/// While the connection is idle, a probe without an answer is repeated so many times at once, since
/// the next regular one is far away.
const REPEATS_WHEN_IDLE: u32 = 3;

/// What is held of the sending direction of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Not proven since its start; or dead before, and some of the proofs needed have come.
    Probing,
    /// The peer has recently proven that it hears us here.
    Up,
    /// It was up, and the peer has ceased to prove that it hears us here.
    Dead,
}

/// What is held of a path now, as it differs from what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The sending direction.
    pub state: State,
    /// Whether the receiving direction is silent: nothing has arrived for so long that nothing
    /// should be waited for.
    pub silent: bool,
}

/// Liveness of one path, as seen from one of its ends.
#[derive(Clone, Debug)]
pub struct Liveness {
    timing: Timing,
    /// Traffic flows.
    active: bool,
    suspended: bool,
    state: State,
    since: Instant,
    silent: bool,
    /// Was dead since its start: falls back to [`State::Dead`] when proofs cease.
    returning: bool,
    /// The last death, or the start.
    fell: Instant,
    /// One of the proofs since then is of a later time. A report is not, if it is about what arrived
    /// before.
    certain: bool,
    sending: Watch,
    receiving: Watch,
    probes: Probes,
    reports: Reports,
    rtt: Rtt,
    hysteresis: Hysteresis,
    /// The last sign of hope.
    hope: Instant,
    /// When something is to be done next, as of the last call.
    planned: Option<Instant>,
    /// When this process last stood still.
    awake: Instant,
    /// What [`Liveness::handle_timeout`] returned last, and when that became different.
    reported: Option<Change>,
    changed: Instant,
    deaths: u32,
}

impl Liveness {
    /// A path that starts now, while traffic flows. The first [`Liveness::handle_timeout`] returns
    /// its state.
    #[must_use]
    pub fn new(now: Instant, timing: Timing) -> Self {
        let mut liveness = Self {
            timing: timing.bounded(),
            active: true,
            suspended: false,
            state: State::Probing,
            since: now,
            silent: true,
            returning: false,
            fell: now,
            certain: false,
            sending: Watch::new(now),
            receiving: Watch::new(now),
            probes: Probes::new(BURST),
            reports: Reports::default(),
            rtt: Rtt::new(),
            hysteresis: Hysteresis::new(),
            hope: now,
            planned: None,
            awake: now,
            reported: None,
            changed: now,
            deaths: 0,
        };
        if liveness.timing.is_off() {
            liveness.trust(now);
        }
        liveness.plan(now);
        liveness
    }

    /// Other timers from now on. Switching liveness off makes the path count as proven; switching it
    /// on leaves it so until the contrary is shown.
    pub fn set_timing(&mut self, now: Instant, timing: Timing) {
        let timing = timing.bounded();
        if timing == self.timing {
            return;
        }
        self.notice(now);
        let was_off = self.timing.is_off();
        self.timing = timing;
        if timing.is_off() {
            self.probes = Probes::new(0);
            self.reports = Reports::default();
            if !self.suspended {
                self.trust(now);
            }
        } else if was_off {
            (self.sending, self.receiving) = (Watch::new(now), Watch::new(now));
            self.hope = now;
        } else {
            // The last signs of life are as old as the timers from before allowed.
            self.excuse(now);
        }
        self.plan(now);
    }

    /// Traffic flows, or the connection is idle. When traffic begins, a probe is due at once, unless
    /// there was one less than a keepalive ago; the absence of evidence counts from now on.
    pub fn set_active(&mut self, now: Instant, active: bool) {
        self.notice(now);
        if active && !self.active {
            self.excuse(now);
            self.hope = now;
        }
        self.active = active;
        self.plan(now);
    }

    /// The path starts anew: its interface or the administrator brought it back, or one of its
    /// addresses is a new one. What was learnt before counts no longer, except that a path that
    /// kept failing remains held back.
    pub fn restart(&mut self, now: Instant) {
        self.suspended = false;
        self.begin(now);
        self.probes = Probes::new(BURST);
        self.rtt = Rtt::new();
        if self.timing.is_off() {
            self.trust(now);
        }
        self.plan(now);
    }

    /// The path's remote address is now another one, which has just answered a challenge: as good as
    /// a proof. What is on its way to the old one counts no longer, and the round-trip time is
    /// measured anew, at once.
    pub fn moved(&mut self, now: Instant) {
        if self.is_watched() {
            self.notice(now);
            self.probes = Probes::new(0);
            self.rtt = Rtt::new();
            self.hope = now;
            self.prove(now, now);
            self.plan(now);
        }
    }

    /// As [`Liveness::restart`], but the path is held back no longer, however often it failed: no
    /// other one works, or the peer has begun anew.
    pub fn revive(&mut self, now: Instant) {
        self.hysteresis = Hysteresis::new();
        self.restart(now);
    }

    /// No other path works: the proofs that there are are enough, however many the path needs, if one
    /// is of the time since its death. A path that kept failing is held back again after the next one.
    pub fn make_do(&mut self, now: Instant) {
        if self.state == State::Probing && self.certain && self.hysteresis.is_counting() {
            self.notice(now);
            self.rise(now);
            self.plan(now);
        }
    }

    /// The interface is down, or the path is administratively down: no probes, and no judgement of
    /// the sending direction, until [`Liveness::restart`]. The receiving direction becomes silent when
    /// what is on its way has arrived.
    pub fn suspend(&mut self, now: Instant) {
        self.notice(now);
        self.suspended = true;
        self.begin(now);
        self.probes = Probes::new(0);
        self.plan(now);
    }

    /// An echo arrived on this path. Returns whether its token is one of ours that is on its way; it
    /// has no effect otherwise.
    pub fn handle_echo(&mut self, now: Instant, token: u64) -> bool {
        self.notice(now);
        let Some(sample) = self.probes.take(now, token) else { return false };
        // The echo of a probe from before the process stood still may have lain unread.
        if now - sample >= self.awake {
            self.rtt.record(sample);
        }
        self.prove(now, now);
        self.handle_frame(now);
        true
    }

    /// A round-trip time that was measured otherwise on this path.
    pub fn note_rtt(&mut self, sample: Duration) {
        self.rtt.record(sample);
    }

    /// The peer's count of our frames on this path (`frames` modulo 2^32), reported over whichever
    /// path. Growth is evidence, of the time of the report before. Counts that are behind an earlier
    /// one are late and without effect; if there are no others for 10 s, the peer has begun to count
    /// anew.
    pub fn handle_report(&mut self, now: Instant, frames: u32) {
        self.notice(now);
        // What arrives before the first probe was sent is about the time before the start.
        if self.probes.last().is_some()
            && let Some(since) = self.reports.handle(now, frames)
        {
            self.prove(now, since);
        }
        self.plan(now);
    }

    /// An authenticated frame arrived on this path.
    pub fn handle_frame(&mut self, now: Instant) {
        self.notice(now);
        self.receiving.sign(now);
        if self.silent {
            self.silent = false;
            self.changed = now;
            // A path that recovers is likely to do so in both directions.
            self.hope = now;
        }
        self.plan(now);
    }

    /// Whether a probe is to be sent now. If so, `token` counts as sent with it: 64 random bits,
    /// other ones for every probe.
    pub fn poll_probe(&mut self, now: Instant, token: u64) -> bool {
        let due = self.next_probe().is_some_and(|time| time <= now);
        if due {
            self.notice(now);
            self.probes.send(now, token);
            self.plan(now);
        }
        due
    }

    /// Whether a probe should travel along with an echo that is about to be sent: when the next one
    /// is due in less than a quarter of the time between two. Never the answer to anything but a
    /// probe, otherwise there would be no end to it.
    #[must_use]
    pub fn may_attach_probe(&self, now: Instant) -> bool {
        let old = |last| now.saturating_duration_since(last) >= self.interval() * 3 / 4;
        self.is_watched() && self.probes.last().is_none_or(old)
    }

    /// A probe with this token leaves along with an echo, in place of the next regular one. Without
    /// effect when there are no probes (suspended, or off).
    pub fn attach_probe(&mut self, now: Instant, token: u64) {
        if self.is_watched() {
            self.notice(now);
            self.probes.send(now, token);
            self.plan(now);
        }
    }

    /// Lets time pass. Returns what is held of the path if that differs from the last answer; the
    /// changes made by other calls are told here too.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Change> {
        self.notice(now);
        self.judge_sending(now);
        self.judge_receiving(now);
        self.plan(now);
        let change = Change { state: self.state, silent: self.silent };
        let told = self.reported.replace(change) == Some(change);
        (!told).then_some(change)
    }

    /// When [`Liveness::handle_timeout`] and then [`Liveness::poll_probe`] are to be called next. After
    /// both were, it is later than their `now`.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let told = self.reported == Some(Change { state: self.state, silent: self.silent });
        let untold = (!told).then_some(self.changed);
        let times = [untold, self.next_probe(), self.sending_deadline(), self.receiving_deadline()];
        times.into_iter().flatten().min()
    }

    /// The sending direction.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether the receiving direction is silent: no authenticated frame for as long as the peer may
    /// be silent without the path being dead, or none at all yet.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// Whether what is sent here now may not arrive: the path is not up, or evidence is overdue. Then
    /// a report in answer to a probe should travel over a path that is up as well, since the peer's
    /// judgement of its own direction depends on it.
    #[must_use]
    pub fn is_doubtful(&self, now: Instant) -> bool {
        let overdue = || self.sending.overdue(self.interval_when_up(), self.answer_expected());
        !self.timing.is_off() && (self.state != State::Up || overdue() <= now)
    }

    /// The round-trip time since the last start.
    #[must_use]
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// When the peer confirmed last that it hears us on this path; `now` where liveness is off.
    #[must_use]
    pub fn confirmed_at(&self, now: Instant) -> Instant {
        if self.timing.is_off() { now } else { self.sending.last() }
    }

    /// When the state became what it is.
    #[must_use]
    pub fn since(&self) -> Instant {
        self.since
    }

    /// How often the path died: went from up to dead.
    #[must_use]
    pub fn flaps(&self) -> u32 {
        self.deaths
    }

    /// How many proofs in a row the path needs (at the last start or death) before it is up.
    #[must_use]
    pub fn proofs_needed(&self) -> u32 {
        self.hysteresis.needed()
    }

    /// How long the last evidence is good for, as traffic flows or not.
    #[must_use]
    pub fn dead_after(&self) -> Duration {
        let late = self.answer_expected() + self.interval_when_up();
        let default = late.max(self.interval_when_up() * 3);
        match self.timing.dead {
            Some(dead) if self.active => dead,
            Some(dead) => dead.max(default),
            None => default,
        }
    }

    /// The probes on their way: never more than 128.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.probes.outstanding()
    }

    /// How long silence must last when nothing was asked before: `dead` may be shorter than the
    /// round-trip time, the first answer never is.
    fn allowance(&self) -> Duration {
        self.dead_after().max(self.answer_expected() + self.interval_when_up())
    }

    /// SRTT + 4 RTTVAR, as far as known.
    fn answer_expected(&self) -> Duration {
        self.rtt.longest_expected().unwrap_or_default()
    }

    fn is_watched(&self) -> bool {
        !self.suspended && !self.timing.is_off()
    }

    /// Time between two regular probes of a path that is up.
    fn interval_when_up(&self) -> Duration {
        if self.active { self.timing.keepalive } else { self.timing.idle }
    }

    /// Until when a path that is not up is probed every keepalive.
    fn eager_until(&self) -> Instant {
        self.hope + if self.active { EAGER } else { EAGER_WHEN_IDLE }
    }

    /// Time between two probes of a path that is not up and has not been for long.
    fn patient_interval(&self) -> Duration {
        let Timing { keepalive, idle, .. } = self.timing;
        if self.active { PATIENT_INTERVAL.clamp(keepalive, idle) } else { idle }
    }

    /// Time between the last probe and the next regular one, before jitter.
    fn interval(&self) -> Duration {
        let keepalive = self.timing.keepalive;
        match (self.state, self.probes.last()) {
            (State::Up, _) => self.interval_when_up(),
            (_, Some(last)) if last + self.probes.jittered(keepalive) > self.eager_until() => {
                self.patient_interval()
            }
            _ => keepalive,
        }
    }

    fn next_probe(&self) -> Option<Instant> {
        if !self.is_watched() {
            return None;
        }
        let Some(last) = self.probes.last() else { return Some(self.hope) };
        let keepalive = self.timing.keepalive;
        if self.probes.burst > 0 {
            return Some(last + BURST_INTERVAL.min(keepalive));
        }
        let regular = last + self.probes.jittered(self.interval());
        Some(self.extra_probe(last).map_or(regular, |extra| extra.min(regular)))
    }

    /// A path that is up is probed more often while evidence is overdue, so that lost probes are not
    /// taken for a dead path: four times as often while traffic flows, a few times every keepalive
    /// when idle.
    fn extra_probe(&self, last: Instant) -> Option<Instant> {
        let asked = self.probes.asked().filter(|_| self.state == State::Up)?;
        let keepalive = self.timing.keepalive;
        let answer = self.answer_expected();
        if self.active {
            Some(self.sending.overdue(keepalive, answer).max(last + keepalive / 4))
        } else if self.probes.unanswered() <= REPEATS_WHEN_IDLE {
            Some((asked + answer + keepalive / 4).max(last + keepalive))
        } else {
            None
        }
    }

    /// When the path is dead, or is so again, without further evidence.
    fn sending_deadline(&self) -> Option<Instant> {
        let judged = match self.state {
            State::Up => true,
            State::Probing => self.hysteresis.is_counting(),
            State::Dead => false,
        };
        let deadline = || self.sending.deadline(self.dead_after(), self.allowance());
        (judged && self.is_watched()).then(deadline)
    }

    fn receiving_deadline(&self) -> Option<Instant> {
        let deadline = || self.receiving.deadline(self.dead_after(), self.allowance());
        (!self.silent && !self.timing.is_off()).then(deadline)
    }

    /// Both directions are excused: their silence counts from now on.
    fn excuse(&mut self, now: Instant) {
        let question_open = self.probes.asked().is_some();
        self.sending.excuse(now, question_open);
        self.receiving.excuse(now, question_open);
    }

    /// The beginning of every call. If something was to be done so long ago that this process cannot have
    /// run in the meantime, then what has arrived since may still wait to be read.
    fn notice(&mut self, now: Instant) {
        let grace = self.timing.keepalive / 4;
        if self.planned.is_some_and(|time| now.saturating_duration_since(time) > grace) {
            self.awake = now;
            self.excuse(now);
        }
    }

    /// The end of every call: what it made due, it made due now.
    fn plan(&mut self, now: Instant) {
        let times = [self.next_probe(), self.sending_deadline(), self.receiving_deadline()];
        self.planned = times.into_iter().flatten().min().map(|time| time.max(now));
    }

    fn judge_sending(&mut self, now: Instant) {
        if self.sending_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        self.certain = false;
        if self.state == State::Up {
            self.fell = now;
            self.deaths = self.deaths.saturating_add(1);
            self.hysteresis.die(now);
            self.returning = true;
            self.hope = now;
        } else {
            self.hysteresis.lapse();
        }
        if self.returning {
            self.set_state(now, State::Dead);
        }
    }

    fn judge_receiving(&mut self, now: Instant) {
        if self.receiving_deadline().is_some_and(|deadline| deadline <= now) {
            self.silent = true;
            self.changed = now;
        }
    }

    /// The peer has heard us on this path, not before `since`.
    fn prove(&mut self, now: Instant, since: Instant) {
        self.probes.answered(since);
        if self.state == State::Up {
            self.sending.sign(since);
            return;
        }
        self.sending.sign(now);
        self.hope = now;
        self.certain |= since >= self.fell;
        // Three quarters: at a keepalive's distance, whatever the jitter.
        if self.hysteresis.prove(now, self.timing.keepalive * 3 / 4) {
            self.rise(now);
        } else {
            self.set_state(now, State::Probing);
        }
    }

    /// The proofs are enough.
    fn rise(&mut self, now: Instant) {
        self.hysteresis.rise(now);
        self.probes.burst = 0;
        self.set_state(now, State::Up);
    }

    /// Back to the beginning, whatever was before.
    fn begin(&mut self, now: Instant) {
        self.returning = false;
        (self.fell, self.certain) = (now, false);
        self.reports = Reports::default();
        self.hysteresis.restart();
        self.hope = now;
        self.set_state(now, State::Probing);
    }

    /// Liveness is off: the path counts as proven, in both directions.
    fn trust(&mut self, now: Instant) {
        self.returning = false;
        self.hysteresis.restart();
        self.set_state(now, State::Up);
        if self.silent {
            self.silent = false;
            self.changed = now;
        }
    }

    fn set_state(&mut self, now: Instant, state: State) {
        if self.state != state {
            self.state = state;
            self.since = now;
            self.changed = now;
        }
    }
}
