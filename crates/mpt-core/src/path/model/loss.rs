//! How many packets of a path are lost by chance.

use std::collections::VecDeque;

/// Packets over which loss is counted: the latest that many, or somewhat more.
const COUNTED: u32 = 2_000;
/// The longest time over which it is counted, in microseconds.
const MEMORY: i64 = 20_000_000;

/// The loss of a path.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    /// By report: time, packets sent up to the highest number that came, packets that came.
    points: VecDeque<(i64, u32, u32)>,
    sent: u32,
    lost: u32,
    /// Packets before this one say nothing.
    from: Option<u32>,
}

impl Losses {
    pub(crate) fn new() -> Self {
        Self { points: VecDeque::new(), sent: 0, lost: 0, from: None }
    }

    /// Of the first `sent` packets of the path (modulo 2^32) `received` have come, and no more will.
    pub(crate) fn record(&mut self, now: i64, sent: u32, received: u32) {
        if self.from.is_some_and(|from| sent.wrapping_sub(from).cast_signed() < 0) {
            return;
        }
        self.from = None;
        if self.points.back().is_some_and(|&(_, last, _)| last == sent) {
            return;
        }
        self.points.push_back((now, sent, received));
        while self.points.len() > 2
            && (sent.wrapping_sub(self.points[1].1) >= COUNTED || now - self.points[0].0 > MEMORY)
        {
            self.points.pop_front();
        }
        while self.points.len() > 1_024 {
            // Every other one is enough.
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
        }
        let Some(&(_, first_sent, first_received)) = self.points.front() else { return };
        self.sent = sent.wrapping_sub(first_sent);
        self.lost = self.sent.saturating_sub(received.wrapping_sub(first_received));
    }

    /// Packets that were counted.
    pub(crate) fn counted(&self) -> u32 {
        self.sent
    }

    /// The share that was lost.
    pub(crate) fn share(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { f64::from(self.lost) / f64::from(self.sent) }
    }

    /// A queue has overflowed, or may have: packets up to the `sent`-th of the path say nothing about
    /// chance.
    pub(crate) fn judge_from(&mut self, sent: u32) {
        *self = Self { from: Some(sent), ..Self::new() };
    }

    /// Counts from here on.
    pub(crate) fn restart(&mut self) {
        *self = Self::new();
    }
}
