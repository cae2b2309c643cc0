//! Detects whether one path works, in each direction (docs/liveness.md).
//!
//! The owner of a [`Liveness`] reports what happens on a path; it answers when to send a probe and in
//! which state the path is. The **sending direction** works when the peer confirms that it hears us
//! there: by the echo of a probe, or by a report, over any path, that more of our frames have
//! arrived. Hence a path whose frames are late is not dead. The **receiving direction** works when
//! authenticated frames arrive.
//!
//! The caller asks [`Liveness::next_timeout`] after every call. At that time, and after anything
//! that may have changed the state, it calls [`Liveness::handle_timeout`], and then sends a probe if
//! [`Liveness::poll_probe`] says so. It should take in what has arrived before it handles timeouts.
//!
//! - `sending` has the states of the sending direction, `receiving` those of the receiving one.
//! - `judge` leads from state to state by evidence and its absence; `hysteresis` counts how many
//!   confirmations are enough, `watch` measures silence.
//! - `schedule` says when a probe and when a judgement is due; `probes` and `reports` keep what is on
//!   its way and what the peer has counted.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

mod hysteresis;
mod judge;
mod notices;
mod probes;
mod receiving;
mod reports;
mod schedule;
mod sending;
mod state;
mod timing;
mod watch;

use std::time::{Duration, Instant};

use self::hysteresis::Hysteresis;
use self::notices::Notices;
use self::probes::Probes;
use self::receiving::Receiving;
use self::reports::Reports;
use self::sending::Sending;
pub use self::state::{Change, State};
pub use self::timing::Timing;
use self::watch::Watch;
use crate::Times;
use crate::session::delay::rtt::Rtt;

/// Number of probes sent in quick succession when a path starts, so that the loss of one costs
/// nothing.
const BURST: u32 = 3;

/// The liveness of one path, as seen from one of its ends.
#[derive(Clone, Debug)]
pub struct Liveness {
    timing: Timing,
    /// True while traffic flows.
    active: bool,
    sending: Sending,
    receiving: Receiving,
    /// The time at which [`Self::state`] became what it is.
    since: Instant,
    /// The evidence that the sending direction works.
    evidence: Watch,
    probes: Probes,
    reports: Reports,
    rtt: Rtt,
    hysteresis: Hysteresis,
    /// The last time that something gave reason to probe often.
    encouraged: Instant,
    /// The time at which something is due next, as of the last call.
    planned: Option<Instant>,
    /// The last time that this process stood still.
    awake: Instant,
    notices: Notices,
    deaths: u32,
}

impl Liveness {
    /// Creates the liveness of a path that starts now, while traffic flows. The first
    /// [`Liveness::handle_timeout`] returns its state.
    #[must_use]
    pub fn new(now: Instant, timing: Timing) -> Self {
        let mut liveness = Self {
            timing: timing.bounded(),
            active: true,
            sending: Sending::start(now),
            receiving: Receiving::new(now),
            since: now,
            evidence: Watch::new(now),
            probes: Probes::new(BURST),
            reports: Reports::default(),
            rtt: Rtt::new(),
            hysteresis: Hysteresis::new(),
            encouraged: now,
            planned: None,
            awake: now,
            notices: Notices::new(now),
            deaths: 0,
        };
        if liveness.timing.is_off() {
            liveness.trust(now);
        }
        liveness.plan(now);
        liveness
    }

    /// Sets the timers. Switching liveness off makes the path count as confirmed; switching it on
    /// leaves it so until confirmations fail to come.
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
            if !self.sending.is_suspended() {
                self.trust(now);
            }
        } else if was_off {
            self.evidence = Watch::new(now);
            self.receiving.restart(now);
            self.encouraged = now;
        } else {
            // The timers from before allowed the last signs of life to be as old as they are.
            self.exempt(now);
        }
        self.plan(now);
    }

    /// Sets whether traffic flows or the connection is idle. When traffic begins, a probe is due at
    /// once, unless one was sent less than a keepalive ago; the absence of evidence counts from now
    /// on.
    pub fn set_active(&mut self, now: Instant, active: bool) {
        self.notice(now);
        if active && !self.active {
            self.exempt(now);
            self.encouraged = now;
        }
        self.active = active;
        self.plan(now);
    }

    /// Starts the path anew: its interface or the administrator brought it back, or one of its
    /// addresses has changed. Earlier measurements no longer count, except that a path that kept
    /// failing remains held back.
    pub fn restart(&mut self, now: Instant) {
        self.begin(now, Sending::start(now));
        self.probes = Probes::new(BURST);
        self.rtt = Rtt::new();
        if self.timing.is_off() {
            self.trust(now);
        }
        self.plan(now);
    }

    /// Takes a new remote address of the path, which has just answered a challenge: that counts as
    /// a confirmation. Probes on their way to the old address no longer count, and the round-trip
    /// time is measured anew, at once.
    pub fn moved(&mut self, now: Instant) {
        if self.is_watched() {
            self.notice(now);
            self.probes = Probes::new(0);
            self.rtt = Rtt::new();
            self.encouraged = now;
            self.confirm(now, now);
            self.plan(now);
        }
    }

    /// Starts the path anew like [`Liveness::restart`], and no longer holds it back, however often
    /// it failed: no other path works, or the peer has begun anew.
    pub fn revive(&mut self, now: Instant) {
        self.hysteresis = Hysteresis::new();
        self.restart(now);
    }

    /// Accepts the path as a fallback because no other path works: the confirmations so far are
    /// enough, however many the path needs, if one dates from after its death. A path that kept
    /// failing is held back again after its next death.
    pub fn fall_back_to(&mut self, now: Instant) {
        if self.sending.is_certain() && self.hysteresis.is_counting() {
            self.notice(now);
            self.rise(now);
            self.plan(now);
        }
    }

    /// Suspends the path, because its interface is down or the administrator took it down: it is
    /// not probed, and its sending direction is not judged, until [`Liveness::restart`]. The
    /// receiving direction becomes silent when what is on its way has arrived.
    pub fn suspend(&mut self, now: Instant) {
        self.notice(now);
        self.begin(now, Sending::Suspended);
        self.probes = Probes::new(0);
        self.plan(now);
    }

    /// Takes an echo that arrived on this path. Returns true if its token is one of ours that is on
    /// its way; otherwise the echo has no effect.
    pub fn handle_echo(&mut self, at: impl Into<Times>, token: u64) -> bool {
        let at = at.into();
        let now = at.now();
        self.notice(now);
        let Some((sent, sample)) = self.probes.take(at, token) else { return false };
        // The echo of a probe from before the process stood still may have lain unread.
        if sent >= self.awake {
            self.rtt.record(sample);
        }
        if self.sending.fell().is_some_and(|fell| sent < fell) {
            self.hysteresis.pardon(now);
        }
        self.confirm(now, now);
        self.handle_frame(now);
        true
    }

    /// Takes a round-trip time of this path that was measured otherwise.
    pub fn note_rtt(&mut self, sample: Duration) {
        self.rtt.record(sample);
    }

    /// Takes the peer's count of our frames on this path (`frames` modulo 2^32), reported over any
    /// path. Growth is evidence that dates from the report before. A count behind an earlier one is
    /// late and has no effect; if only such counts come for 10 s, the peer has begun to count anew.
    pub fn handle_report(&mut self, now: Instant, frames: u32) {
        self.notice(now);
        // A report that arrives before the first probe was sent describes the time before the
        // start.
        if self.probes.last().is_some()
            && let Some(since) = self.reports.handle(now, frames)
        {
            self.confirm(now, since);
        }
        self.plan(now);
    }

    /// Takes note of an authenticated frame that arrived on this path.
    pub fn handle_frame(&mut self, now: Instant) {
        self.notice(now);
        if self.receiving.hear(now) {
            self.notices.change(now);
            // A path that recovers is likely to do so in both directions.
            self.encouraged = now;
        }
        self.plan(now);
    }

    /// Returns true if a probe is to be sent now. Then `token` counts as sent with it: 64 random
    /// bits, different for every probe.
    pub fn poll_probe(&mut self, now: Instant, token: u64) -> bool {
        let due = self.next_probe().is_some_and(|time| time <= now);
        if due {
            self.notice(now);
            self.probes.send(now, token);
            self.plan(now);
        }
        due
    }

    /// Returns true if a probe should travel along with an echo that is about to be sent, because
    /// the next probe is due in less than a quarter of the time between two. Only an echo, which
    /// answers a probe, may carry one: otherwise the ends would answer each other without end.
    #[must_use]
    pub fn may_attach_probe(&self, now: Instant) -> bool {
        let old = |last| now.saturating_duration_since(last) >= self.interval() * 3 / 4;
        self.is_watched() && self.probes.last().is_none_or(old)
    }

    /// Takes note of a probe with this token that leaves along with an echo, in place of the next
    /// regular one. It has no effect on a path that is not probed (suspended, or liveness is off).
    pub fn attach_probe(&mut self, now: Instant, token: u64) {
        if self.is_watched() {
            self.notice(now);
            self.probes.send(now, token);
            self.plan(now);
        }
    }

    /// Lets time pass. Returns the state of the path if it differs from what was returned last,
    /// whichever call has changed it.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Change> {
        self.notice(now);
        self.judge_sending(now);
        self.judge_receiving(now);
        self.plan(now);
        self.notices.report(self.now())
    }

    /// Returns when [`Liveness::handle_timeout`] and then [`Liveness::poll_probe`] are to be called
    /// next. After both were called, it is later than their `now`.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let report = self.notices.due(self.now());
        let times = [report, self.next_probe(), self.sending_deadline(), self.receiving_deadline()];
        times.into_iter().flatten().min()
    }
}

impl Liveness {
    /// Returns the state of the sending direction.
    #[must_use]
    pub fn state(&self) -> State {
        self.sending.state()
    }

    /// Returns true from [`Liveness::suspend`] until [`Liveness::restart`].
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.sending.is_suspended()
    }

    /// Returns true if the receiving direction is silent: no authenticated frame has come for as
    /// long as the peer may be silent on a path that works, or none at all yet.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.receiving.is_silent()
    }

    /// Returns true if a packet sent on this path now may not arrive: the path is not up, or
    /// evidence is overdue. Then a report in answer to a probe should travel over a path that is up
    /// as well, since the peer needs it to judge its own direction.
    #[must_use]
    pub fn is_doubtful(&self, now: Instant) -> bool {
        let overdue = || self.evidence.overdue(self.interval_when_up(), self.answer_expected());
        !self.timing.is_off() && (!self.sending.is_up() || overdue() <= now)
    }

    /// Returns the round-trip time since the last start.
    #[must_use]
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// Returns when the peer last confirmed that it hears us on this path; `now` where liveness is
    /// off.
    #[must_use]
    pub fn confirmed_at(&self, now: Instant) -> Instant {
        if self.timing.is_off() { now } else { self.evidence.last() }
    }

    /// Returns when the state became what it is.
    #[must_use]
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Returns how often the path died, which is to go from up to dead.
    #[must_use]
    pub fn flaps(&self) -> u32 {
        self.deaths
    }

    /// Returns how many confirmations in a row the path needs, since the last start or death,
    /// before it is up.
    #[must_use]
    pub fn confirmations_needed(&self) -> u32 {
        self.hysteresis.needed()
    }

    /// Returns the number of probes on their way: never more than 128.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.probes.outstanding()
    }

    fn now(&self) -> Change {
        Change { state: self.state(), silent: self.is_silent() }
    }
}
