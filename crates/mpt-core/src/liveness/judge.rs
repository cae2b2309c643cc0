//! The judgement of a path's state by evidence and its absence.

use std::time::Instant;

use super::Liveness;
use super::reports::Reports;
use super::sending::Sending;

impl Liveness {
    /// Both directions are exempted: their silence counts from now on.
    pub(super) fn exempt(&mut self, now: Instant) {
        let question_open = self.probes.asked().is_some();
        self.evidence.exempt(now, question_open);
        self.receiving.exempt(now, question_open);
    }

    pub(super) fn judge_sending(&mut self, now: Instant) {
        if self.sending_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        if self.sending.is_up() {
            self.deaths = self.deaths.saturating_add(1);
            self.hysteresis.die(now, self.evidence.last());
            self.encouraged = now;
        } else {
            self.hysteresis.lapse();
        }
        let mut sending = self.sending;
        sending.lose(now);
        self.enter(now, sending);
    }

    pub(super) fn judge_receiving(&mut self, now: Instant) {
        if self.receiving_deadline().is_some_and(|deadline| deadline <= now) {
            self.receiving.fall_silent();
            self.notices.change(now);
        }
    }

    /// The peer has heard us on this path, at `since` at the earliest.
    pub(super) fn confirm(&mut self, now: Instant, since: Instant) {
        self.probes.answered(since);
        if self.sending.is_up() {
            self.evidence.sign(since);
            return;
        }
        self.evidence.sign(now);
        self.encouraged = now;
        // Three quarters: at a keepalive's distance, whatever the jitter.
        if self.hysteresis.confirm(now, self.timing.keepalive * 3 / 4) {
            self.rise(now);
        } else {
            let mut sending = self.sending;
            sending.confirm(since);
            self.enter(now, sending);
        }
    }

    /// The confirmations are enough.
    pub(super) fn rise(&mut self, now: Instant) {
        self.hysteresis.rise(now);
        self.probes.burst = 0;
        self.enter(now, Sending::Up);
    }

    /// Everything begins anew in this state of the sending direction, whatever was before.
    pub(super) fn begin(&mut self, now: Instant, sending: Sending) {
        self.reports = Reports::default();
        self.hysteresis.restart();
        self.encouraged = now;
        self.enter(now, sending);
    }

    /// Liveness is off: both directions count as confirmed.
    pub(super) fn trust(&mut self, now: Instant) {
        self.hysteresis.restart();
        self.enter(now, Sending::Up);
        if self.receiving.trust() {
            self.notices.change(now);
        }
    }

    fn enter(&mut self, now: Instant, sending: Sending) {
        let before = std::mem::replace(&mut self.sending, sending);
        if before.state() != sending.state() {
            self.since = now;
            self.notices.change(now);
        }
    }
}
