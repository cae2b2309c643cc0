//! The handling of a report: it is recorded and judged, and the phase acts on it.

use super::observed::overflow::Verdict;
use super::phase::{Cause, Phase};
use super::report::{Pause, Present, Report};
use super::state::{Model, OWN_QUEUE};

/// The part of a queue that our bytes under way make up at least if it is ours. They are fewer than
/// [`OWN_QUEUE`] on a path of a low rate.
const OWN_PART: f64 = 0.25;
/// The time for which a queue has to stand where delays wander far, in microseconds. A delay that is another one every
/// 100 ms, as on radio links, does not stay long so far above its mean.
const WANDERING: i64 = 200_000;
/// Delays wander far if that makes this part of the tolerated queue. Where it makes less, a queue is noticed before a short
/// one overflows.
const FAR: f64 = 2.0 / 3.0;
/// A queue that is this many times the tolerated one does not stand for the wandering of a delay.
const TOO_FAR: f64 = 2.0;
/// The time without a packet from which on a path stands still, in microseconds.
const STANDSTILL: f64 = 150_000.0;
/// A path counts as in use if it delivers more than its rate divided by this.
const PRESSES: f64 = 3.0;

impl Model {
    /// Handles a report, after its delays were recorded. Returns whether the path has to drain
    /// before anything more is sent.
    pub(crate) fn handle_report(&mut self, report: &Report, present: &Present) -> Option<Pause> {
        let pause = self.act_on(report, present);
        self.rate = self.bounded(self.rate);
        pause
    }

    fn act_on(&mut self, report: &Report, present: &Present) -> Option<Pause> {
        let now = present.now;
        let fresh = self.delays.update(now, report.at, self.rtt());
        self.rates.record(
            now,
            (report.at, report.bytes),
            (report.sent_at, report.sent_bytes),
            (self.rtt(), self.sigma(), self.delays.wander()),
        );
        let gap = self.arrivals.record(report.at, report.bytes);
        if gap.is_some_and(|gap| self.has_stood_still(gap, report, present)) {
            self.over_since = None;
            self.judge_from(now, present.sent_packets);
        }
        let mut loss = Verdict::Usual;
        if let Some((sent, received)) = report.settled {
            self.losses.record(now, sent, received);
            loss = self.overflow.record(now, sent, received, self.rtt());
        }
        let (queue, threshold) = (self.queue(), self.threshold());
        let over_now = fresh && queue > threshold && !self.is_only_wandering();
        self.over_since = match self.over_since {
            Some(since) if queue > threshold => Some(since),
            _ => over_now.then_some(now),
        };
        let patience = self.patience(queue, threshold);
        let over_now = over_now && self.over_since.is_some_and(|since| now >= since + patience);
        if fresh && queue < self.threshold_at(0.5) {
            self.cut_at = None;
        }
        // A path that is given little does not overflow from it.
        let presses = present.backlogged || PRESSES * self.rates.delivered() > self.rate;
        let marked = self.marks.record(report.marked, report.sent_at, self.delays.judged_from());
        let overflows = presses && (loss == Verdict::Overflows || marked);
        if overflows && matches!(self.phase, Phase::Startup { .. } | Phase::Known(_)) {
            let cause = if marked { Cause::Marks } else { Cause::Overflow };
            return self.cut(report, present, cause);
        }
        let ours = self.may_be_ours(report, present);
        match self.phase {
            Phase::Draining(drain) => return self.drain(drain, (fresh, queue), report, present),
            Phase::Shared { since, found } => {
                let lost = loss != Verdict::Usual || marked;
                return self.share((since, found), lost, (fresh, queue), report, present);
            }
            Phase::Startup { foretold } => {
                if over_now && ours && (foretold.is_none() || self.may_fill()) {
                    return self.cut(report, present, Cause::Queue);
                }
                if over_now {
                    // Others use the path as well, of which the trains have shown nothing.
                    self.phase = Phase::Startup { foretold: None };
                }
                self.start_up(queue > self.threshold_at(0.5));
                self.keep_to_foretold(now);
            }
            Phase::Known(known) => {
                return self.hold(known, (fresh, over_now && ours), report, present);
            }
        }
        None
    }

    /// Returns true if the packets that have come after a time without any were late because the path stood still, and not because it
    /// was given too much. `gap` is that time in microseconds.
    fn has_stood_still(&self, gap: i64, report: &Report, present: &Present) -> bool {
        // A delay that wanders may grow by so much at once.
        let least = STANDSTILL + 2.0 * self.threshold_at(0.0);
        let late = (present.now - report.sent_at) as f64 > self.rtt() + least / 2.0;
        late && gap as f64 > least
    }

    /// Returns the time for which a queue has to stand before the path is given less, in microseconds. With jitter the
    /// level is measured over some time, and has to stand for as long again.
    fn patience(&self, queue: f64, threshold: f64) -> i64 {
        let wandering = self.threshold_at(0.0);
        if wandering >= FAR * threshold && queue < TOO_FAR * threshold {
            self.step().max(WANDERING)
        } else if self.delays.sigma() > 0.0 {
            self.step()
        } else {
            0
        }
    }

    /// Returns true if the queue may consist of our packets, so that less on the path shortens it.
    /// Otherwise it is that of other traffic, or a delay that has changed.
    fn may_be_ours(&self, report: &Report, present: &Present) -> bool {
        let under_way = present.sent_bytes.saturating_sub(report.sent_bytes) as f64;
        under_way >= OWN_QUEUE.min(OWN_PART * self.rate * self.queue())
    }
}
