//! The schedule of a path: the times of its probes, and those until which each direction may be
//! without evidence.

use std::time::{Duration, Instant};

use super::state::State;
use super::{Liveness, Timing};

/// Time between the probes sent in quick succession when a path starts.
const BURST_INTERVAL: Duration = Duration::from_millis(20);
/// While traffic flows, a path that is not up is probed every keepalive for so long after the last
/// encouragement: its start, its death, the first traffic, a confirmation, the first frame after
/// silence.
const EAGER: Duration = Duration::from_secs(60);
/// Like `EAGER`, while the connection is idle. Each confirmation counts as an encouragement, so that
/// a path that returns is up soon nevertheless.
const EAGER_WHEN_IDLE: Duration = Duration::from_secs(5);
/// Time between two probes after `EAGER` has passed, while traffic flows.
const PATIENT_INTERVAL: Duration = Duration::from_millis(500);
/// Number of times that a probe without an answer is repeated at once while the connection is idle,
/// since the next regular probe is far away.
const REPEATS_WHEN_IDLE: u32 = 3;

impl Liveness {
    /// Returns how long the last evidence is valid, depending on whether traffic flows.
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

    /// Returns how long silence must last when nothing was asked before: `dead` may be shorter than
    /// the round-trip time, the first answer never is.
    pub(super) fn allowance(&self) -> Duration {
        self.dead_after().max(self.answer_expected() + self.interval_when_up())
    }

    /// SRTT + 4 RTTVAR, as far as known.
    pub(super) fn answer_expected(&self) -> Duration {
        self.rtt.longest_expected().unwrap_or_default()
    }

    pub(super) fn is_watched(&self) -> bool {
        !self.sending.is_suspended() && !self.timing.is_off()
    }

    /// Time between two regular probes of a path that is up.
    pub(super) fn interval_when_up(&self) -> Duration {
        if self.active { self.timing.keepalive } else { self.timing.idle }
    }

    /// The time until which a path that is not up is probed every keepalive.
    fn eager_until(&self) -> Instant {
        self.encouraged + if self.active { EAGER } else { EAGER_WHEN_IDLE }
    }

    /// Time between two probes of a path that is not up and has not been for long.
    fn patient_interval(&self) -> Duration {
        let Timing { keepalive, idle, .. } = self.timing;
        if self.active { PATIENT_INTERVAL.clamp(keepalive, idle) } else { idle }
    }

    /// Time between the last probe and the next regular one, before jitter.
    pub(super) fn interval(&self) -> Duration {
        let keepalive = self.timing.keepalive;
        match (self.state(), self.probes.last()) {
            (State::Up, _) => self.interval_when_up(),
            (_, Some(last)) if last + self.probes.jittered(keepalive) > self.eager_until() => {
                self.patient_interval()
            }
            _ => keepalive,
        }
    }

    pub(super) fn next_probe(&self) -> Option<Instant> {
        if !self.is_watched() {
            return None;
        }
        let Some(last) = self.probes.last() else { return Some(self.encouraged) };
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
        let asked = self.probes.asked().filter(|_| self.sending.is_up())?;
        let keepalive = self.timing.keepalive;
        let answer = self.answer_expected();
        if self.active {
            Some(self.evidence.overdue(keepalive, answer).max(last + keepalive / 4))
        } else if self.probes.unanswered() <= REPEATS_WHEN_IDLE {
            Some((asked + answer + keepalive / 4).max(last + keepalive))
        } else {
            None
        }
    }

    /// The time at which the path is dead, or is so again, without further evidence.
    pub(super) fn sending_deadline(&self) -> Option<Instant> {
        let judged = match self.state() {
            State::Up => true,
            State::Probing => self.hysteresis.is_counting(),
            State::Dead => false,
        };
        let deadline = || self.evidence.deadline(self.dead_after(), self.allowance());
        (judged && self.is_watched()).then(deadline)
    }

    pub(super) fn receiving_deadline(&self) -> Option<Instant> {
        if self.timing.is_off() {
            return None;
        }
        self.receiving.deadline(self.dead_after(), self.allowance())
    }

    /// The beginning of every call. If something was due so long ago that this process cannot have
    /// run in the meantime, then what has arrived since may still wait to be read.
    pub(super) fn notice(&mut self, now: Instant) {
        let grace = self.timing.keepalive / 4;
        if self.planned.is_some_and(|time| now.saturating_duration_since(time) > grace) {
            self.awake = now;
            self.exempt(now);
        }
    }

    /// The end of every call: what the call has made due is due now.
    pub(super) fn plan(&mut self, now: Instant) {
        let times = [self.next_probe(), self.sending_deadline(), self.receiving_deadline()];
        self.planned = times.into_iter().flatten().min().map(|time| time.max(now));
    }
}
