//! Schedulers: the choice of the subflow for the next segment.

use serde::{Deserialize, Serialize};

use crate::transport::tcp::Subflow;

/// Step and start of lambda, BLEST's factor on its estimate of the blocked window (Ferlin et al. 2016, section IV).
const BLEST_STEP: f64 = 0.01;
const BLEST_START: f64 = 1.0;
/// Hysteresis of ECF: beta (Lim et al. 2017, section 4).
const ECF_BETA: f64 = 0.25;

/// A scheduling rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The subflows whose window has room take turns.
    RoundRobin,
    /// The subflow of the shortest round-trip time whose window has room.
    MinRtt,
    /// The subflow of the shortest round-trip time as with `MinRtt`, but a slow one is not used where it would block the shared window (Ferlin et
    /// al., IFIP Networking 2016).
    Blest,
    /// The subflow of the shortest round-trip time as with `MinRtt`, but a slow one is not used where waiting for the fast one is faster (Lim et al.,
    /// CoNEXT 2017).
    Ecf,
    /// Every segment is sent on every subflow.
    Redundant,
}

/// The state of a scheduler.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    rule: Scheduler,
    /// Round robin: the subflow whose turn it is.
    next: usize,
    /// BLEST: the factor lambda, and whether the window has blocked since the last look at it.
    lambda: f64,
    blocked: bool,
    /// ECF: true while it waits.
    waiting: bool,
}

/// The connection, as a scheduler sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// Segments that the shared window still takes.
    pub(super) window: u64,
    /// Segments that wait to be sent.
    pub(super) backlog: u64,
}

impl Turn {
    pub(super) fn new(rule: Scheduler) -> Self {
        Self { rule, next: 0, lambda: BLEST_START, blocked: false, waiting: false }
    }

    /// Notes that the shared window did not let a segment out.
    pub(super) fn was_blocked(&mut self) {
        self.blocked = true;
    }

    /// Returns the subflow for the next segment; `None` to wait.
    pub(super) fn pick(&mut self, subflows: &[Subflow], situation: Situation) -> Option<usize> {
        match self.rule {
            Scheduler::RoundRobin | Scheduler::Redundant => {
                let count = subflows.len();
                let turn = self.next;
                let path = (0..count)
                    .map(|step| (turn + step) % count)
                    .find(|&it| usable(&subflows[it]))?;
                self.next = (path + 1) % count;
                Some(path)
            }
            Scheduler::MinRtt => fastest(subflows, usable),
            Scheduler::Blest => self.blest(subflows, situation),
            Scheduler::Ecf => self.ecf(subflows, situation),
        }
    }

    fn blest(&mut self, subflows: &[Subflow], situation: Situation) -> Option<usize> {
        let (fast, slow) = (fastest(subflows, alive)?, fastest(subflows, usable)?);
        if fast == slow {
            return Some(fast);
        }
        // Lambda grows while the window blocks, and shrinks while it does not.
        self.lambda =
            (self.lambda + if self.blocked { BLEST_STEP } else { -BLEST_STEP }).max(BLEST_START);
        self.blocked = false;
        let (fast, slow_flow) = (&subflows[fast], &subflows[slow]);
        let rounds = rtt(slow_flow) / rtt(fast);
        // The segments that the fast flow could send in the time that a segment takes on the slow one.
        let possible = rounds * (fast.window() + (rounds - 1.0) / 2.0);
        let left = situation.window as f64 - (slow_flow.in_flight() + 1) as f64;
        (self.lambda * possible <= left).then_some(slow)
    }

    fn ecf(&mut self, subflows: &[Subflow], situation: Situation) -> Option<usize> {
        let (fast, slow) = (fastest(subflows, alive)?, fastest(subflows, usable)?);
        if fast == slow {
            return Some(fast);
        }
        let (fast, slow_flow) = (&subflows[fast], &subflows[slow]);
        let backlog = situation.backlog as f64;
        let margin = fast.rtt().variation().max(slow_flow.rtt().variation());
        let hysteresis = if self.waiting { 1.0 + ECF_BETA } else { 1.0 };
        let wait = (1.0 + backlog / fast.window()) * rtt(fast);
        if wait < hysteresis * (rtt(slow_flow) + margin) {
            let needed = (backlog / slow_flow.window()).max(1.0) * rtt(slow_flow);
            if needed >= 2.0 * rtt(fast) + margin {
                self.waiting = true;
                return None;
            }
        } else {
            self.waiting = false;
        }
        Some(slow)
    }
}

fn alive(subflow: &Subflow) -> bool {
    subflow.is_connected() && !subflow.has_timed_out() && !subflow.is_dead()
}

fn usable(subflow: &Subflow) -> bool {
    subflow.has_room() && !subflow.is_dead()
}

fn rtt(subflow: &Subflow) -> f64 {
    subflow.rtt().smoothed()
}

fn fastest(subflows: &[Subflow], eligible: impl Fn(&Subflow) -> bool) -> Option<usize> {
    let eligible = (0..subflows.len()).filter(|&path| eligible(&subflows[path]));
    eligible.min_by(|&a, &b| rtt(&subflows[a]).total_cmp(&rtt(&subflows[b])))
}
