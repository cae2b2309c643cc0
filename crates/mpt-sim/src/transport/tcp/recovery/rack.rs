//! Loss detection by time, and probes of the tail (RACK-TLP, RFC 8985).
//!
//! The probe is always a retransmission of the last segment (RFC 8985 would send new data where there are any).

use std::time::Duration;

use crate::kernel::time::Time;

use super::scoreboard::{Delivered, Scoreboard};
use crate::transport::tcp::rtt::RttEstimator;

/// Recoveries after which the reordering window is small again (7.2, step 4).
const PERSISTENCE: u8 = 16;
/// Segments above a gap that prove a loss at once, as long as no reordering was seen.
const DUPLICATES: u64 = 3;

#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    /// The most recently sent segment that has been delivered: the time at which it was sent, and the number of segments before.
    newest: (Time, u64),
    rtt: Duration,
    /// The number above the highest delivered one.
    forward: u64,
    reordering_seen: bool,
    /// Quarters of the least round-trip time that reordering may take: RACK.reo_wnd_mult less 1.
    more_quarters: u32,
    persistence: u8,
    /// The number until whose acknowledgement reported duplicates count once.
    round: u64,
    /// The time at which the next segment will be lost.
    pub(crate) timer: Option<Time>,
    pub(crate) probe: Probe,
}

/// Tail loss probe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    pub(crate) timer: Option<Time>,
    /// The number after all data sent by the time of the last probe; `None` if no probe is outstanding.
    end: Option<u64>,
}

impl Rack {
    /// Takes into account that a segment was delivered; `echo` is the timestamp of the acknowledgement.
    pub(crate) fn delivered(&mut self, now: Time, echo: Time, it: &Delivered, rtt: &RttEstimator) {
        let Delivered { sequence, sent } = it;
        if sequence < &self.forward && !sent.retransmitted {
            self.reordering_seen = true;
        }
        self.forward = self.forward.max(sequence + 1);
        let measured = now - sent.at;
        // The acknowledgement is for the original (6.2, step 2).
        if sent.retransmitted && (echo < sent.at || measured.as_secs_f64() < rtt.least()) {
            return;
        }
        self.rtt = measured;
        self.newest = self.newest.max((sent.at, sent.transmission));
    }

    /// Handles a segment that came twice: reordering takes longer than the reordering window.
    pub(crate) fn duplicate(&mut self, first: u64, next: u64) {
        if first >= self.round {
            self.round = next;
            self.more_quarters += 1;
            self.persistence = PERSISTENCE;
        }
    }

    pub(crate) fn recovery_ended(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.more_quarters = 0;
        }
    }

    /// Finds the segments that are lost by now, and the time of the next look.
    pub(crate) fn find_lost(
        &mut self,
        now: Time,
        board: &mut Scoreboard,
        rtt: &RttEstimator,
        recovering: bool,
    ) {
        self.timer = None;
        let wait = self.rtt + self.reordering_window(board.sacked(), rtt, recovering);
        let mut lost = Vec::new();
        for (sequence, sent) in board.iter() {
            if (sent.at, sent.transmission) > self.newest {
                if sequence >= self.forward {
                    break;
                }
                continue;
            }
            if sent.sacked || (sent.lost && !sent.in_flight_again) {
                continue;
            }
            let due = sent.at + wait;
            if due <= now {
                lost.push(sequence);
            } else {
                self.timer = self.timer.max(Some(due));
            }
        }
        for sequence in lost {
            board.lose(sequence);
        }
    }

    fn reordering_window(&self, sacked: u64, rtt: &RttEstimator, recovering: bool) -> Duration {
        if !self.reordering_seen && (recovering || sacked >= DUPLICATES) {
            return Duration::ZERO;
        }
        let quarters = f64::from(self.more_quarters + 1) * rtt.least() / 4.0;
        Duration::from_secs_f64(quarters.min(rtt.smoothed()))
    }
}

impl Probe {
    /// Arms the timer two round-trip times from now, after data were sent or acknowledged.
    pub(crate) fn arm(&mut self, now: Time, rtt: &RttEstimator, possible: bool) {
        let armed = possible && self.end.is_none() && rtt.smoothed() > 0.0;
        self.timer = armed.then(|| now + Duration::from_secs_f64(2.0 * rtt.smoothed()));
    }

    pub(crate) fn sent(&mut self, end: u64) {
        (self.timer, self.end) = (None, Some(end));
    }

    /// True if the probe has repaired a loss (7.4.2), which is responded to once.
    pub(crate) fn acknowledged(&mut self, next: u64, duplicate: bool) -> bool {
        let Some(end) = self.end else { return false };
        let repaired = next > end && !duplicate;
        if repaired || (duplicate && next >= end) {
            self.end = None;
        }
        repaired
    }

    pub(crate) fn timed_out(&mut self) {
        *self = Self::default();
    }
}
