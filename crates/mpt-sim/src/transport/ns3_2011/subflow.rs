//! One subflow of the sender.

use std::collections::VecDeque;
use std::time::Duration;

use crate::kernel::time::Time;

use super::MSS;

/// Slow-start threshold at the start, in bytes.
const INITIAL_THRESHOLD: f64 = 65_535.0;
/// Smallest threshold, in bytes.
const LEAST_THRESHOLD: f64 = (2 * MSS) as f64;
/// Round-trip time before the first sample, in seconds.
const INITIAL_RTT: f64 = 1.5;
/// Gain of the estimates of the round-trip time and of its variation.
const GAIN: f64 = 0.1;
/// Limit of the exponential back-off.
const MOST_BACKOFF: f64 = 64.0;
/// Gain of the smoothed window of equation (6).
const WINDOW_GAIN: f64 = 0.125;

/// A packet not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    pub(super) data_sequence: u64,
    /// Number of duplicates ever counted for it.
    pub(super) duplicates: u8,
    /// Number of D-SACK blocks that contained it.
    pub(super) reports: u8,
    /// The time at which it was retransmitted first.
    pub(super) retransmitted: Option<Time>,
    /// The time at which it was sent; `None` once it has been retransmitted: Karn's rule.
    timed: Option<Time>,
}

#[derive(Clone, Debug)]
pub(super) struct Subflow {
    /// The first number that is not acknowledged.
    pub(super) first: u64,
    pub(super) outstanding: VecDeque<Outstanding>,
    pub(super) window: f64,
    pub(super) smoothed_window: f64,
    /// Slow-start threshold, in bytes.
    pub(super) threshold: f64,
    /// Window and threshold before the last congestion response; 0 once D-SACK has come back to it.
    pub(super) saved: (f64, f64),
    /// True while D-SACK's slow start is on its way back to the saved window.
    pub(super) returning: bool,
    /// Number of the packet to be retransmitted next.
    pub(super) retransmission: Option<u64>,
    /// One above the highest number ever retransmitted.
    pub(super) retransmitted_up_to: u64,
    pub(super) timer: Option<Time>,
    /// Estimated round-trip time and its variation, in seconds.
    pub(super) rtt: f64,
    variation: f64,
    sampled: bool,
    backoff: f64,
    minimum_rto: f64,
}

impl Subflow {
    pub(super) fn new(minimum_rto: Duration) -> Self {
        Self {
            first: 0,
            outstanding: VecDeque::new(),
            window: 1.0,
            smoothed_window: 1.0,
            threshold: INITIAL_THRESHOLD,
            saved: (0.0, 0.0),
            returning: false,
            retransmission: None,
            retransmitted_up_to: 0,
            timer: None,
            rtt: INITIAL_RTT,
            variation: 0.0,
            sampled: false,
            backoff: 1.0,
            minimum_rto: minimum_rto.as_secs_f64(),
        }
    }

    /// Returns the next number to be sent.
    pub(super) fn next(&self) -> u64 {
        self.first + self.outstanding.len() as u64
    }

    pub(super) fn has_room(&self) -> bool {
        (self.outstanding.len() as f64) < libm::floor(self.window)
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.window * (MSS as f64) < self.threshold
    }

    pub(super) fn get(&mut self, sequence: u64) -> Option<&mut Outstanding> {
        let index = sequence.checked_sub(self.first)?;
        self.outstanding.get_mut(index as usize)
    }

    /// Sends the next packet, and returns its number.
    pub(super) fn send(&mut self, now: Time, data_sequence: u64) -> u64 {
        let sequence = self.next();
        self.outstanding.push_back(Outstanding {
            data_sequence,
            duplicates: 0,
            reports: 0,
            retransmitted: None,
            timed: Some(now),
        });
        self.arm(now);
        sequence
    }

    /// Marks a packet retransmitted, and returns its number in the connection.
    pub(super) fn retransmit(&mut self, now: Time, sequence: u64) -> Option<u64> {
        let packet = self.get(sequence)?;
        packet.timed = None;
        packet.retransmitted.get_or_insert(now);
        let data_sequence = packet.data_sequence;
        self.retransmitted_up_to = self.retransmitted_up_to.max(sequence + 1);
        self.arm(now);
        Some(data_sequence)
    }

    /// Handles an acknowledgement of everything below `next`.
    pub(super) fn acknowledge(&mut self, now: Time, next: u64) {
        self.timer = None;
        // The sample is that of the oldest packet timed.
        let acknowledged = (next - self.first) as usize;
        let timed = self.outstanding.iter().take(acknowledged).find_map(|packet| packet.timed);
        if let Some(sent) = timed {
            self.sample((now - sent).as_secs_f64());
        }
        self.outstanding.drain(..acknowledged);
        self.first = next;
        if !self.outstanding.is_empty() {
            self.arm(now);
        }
    }

    /// Responds to congestion: saves window and threshold, then sets window, threshold and
    /// back-off, and ends a return of D-SACK.
    pub(super) fn respond(&mut self, window: f64, keep_larger: bool, threshold_in_packets: bool) {
        let (saved_window, saved_threshold) = self.saved;
        self.saved = if keep_larger {
            (self.window.max(saved_window), self.threshold.max(saved_threshold))
        } else {
            (self.window, self.threshold)
        };
        let half = libm::floor(self.window) / 2.0;
        // The original compares packets with bytes, so that it is always two packets.
        let half = if threshold_in_packets { half } else { half * MSS as f64 };
        self.threshold = half.max(LEAST_THRESHOLD);
        self.window = window;
        self.returning = false;
        self.backoff = (self.backoff * 2.0).min(MOST_BACKOFF);
    }

    /// Returns true while D-SACK's window is still below the saved one.
    pub(super) fn is_returning(&mut self) -> bool {
        if self.returning && self.window >= self.saved.0 {
            (self.returning, self.saved) = (false, (0.0, 0.0));
        }
        self.returning
    }

    pub(super) fn grow(&mut self, by: f64) {
        self.window += by;
        self.smoothed_window += WINDOW_GAIN * (self.window - self.smoothed_window);
    }

    /// Arms the timer if it is not armed.
    pub(super) fn arm(&mut self, now: Time) {
        let timeout = self.timeout();
        self.timer.get_or_insert_with(|| now + timeout);
    }

    fn sample(&mut self, measured: f64) {
        if self.sampled {
            let error = measured - self.rtt;
            self.rtt += GAIN * error;
            self.variation += GAIN * (error.abs() - self.variation);
        } else {
            (self.rtt, self.variation, self.sampled) = (measured, measured, true);
        }
        self.backoff = 1.0;
    }

    fn timeout(&self) -> Duration {
        let calm = self.variation < self.rtt / 4.0;
        let base = if calm { 2.0 * self.rtt } else { self.rtt + 4.0 * self.variation };
        Duration::from_secs_f64((base * self.backoff).max(self.minimum_rto))
    }
}
