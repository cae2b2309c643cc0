//! The delay of the data on a path: its base, its jitter, and the queue that stands in it.
//!
//! Delays are those of single packets, arrival by the peer's clock less departure by ours. The
//! difference of the clocks is in all of them alike, and goes out with the base.

use std::collections::VecDeque;

use super::window::Recent;

/// Samples that are kept.
const MOST: usize = 384;
/// How long the least delay counts, at least, in microseconds.
const MEMORY: i64 = 10_000_000;
/// Jitter below this is that of batches and clocks, in microseconds.
const STILL: f64 = 1_000.0;
/// A standing queue is never taken for one below this, in microseconds.
const LEAST_THRESHOLD: f64 = 10_000.0;
/// Packets that left within this time of each other show jitter, and hardly a change of the queue, in
/// microseconds.
const NEIGHBOURS: u64 = 5_000;
/// Differences of neighbours that the jitter is computed from.
const DIFFERENCES: usize = 256;

/// One packet: when it left, and how long it took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    sent: i64,
    delay: f64,
}

/// What is known of the delays of one path. All times are microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    samples: VecDeque<Sample>,
    differences: VecDeque<f64>,
    /// The least of the levels of late.
    base: Recent,
    /// A low quantile of the latest delays that can be judged.
    level: Option<f64>,
    sigma: f64,
    /// Delays of this path jitter: a quantile of many counts, not the least.
    jitters: bool,
    /// What the level may differ by chance.
    chance: f64,
    /// Nothing that left before says anything about the present queue.
    judge_from: i64,
    scratch: Vec<f64>,
}

impl Delays {
    pub(crate) fn new() -> Self {
        Self {
            samples: VecDeque::new(),
            differences: VecDeque::new(),
            base: Recent::least(MEMORY),
            level: None,
            sigma: 0.0,
            jitters: false,
            chance: 0.0,
            judge_from: i64::MIN,
            scratch: Vec::new(),
        }
    }

    /// A packet that left at `sent` took `delay`.
    pub(crate) fn record(&mut self, sent: i64, delay: i64) {
        let delay = delay as f64;
        if let Some(last) = self.samples.back()
            && sent.abs_diff(last.sent) < NEIGHBOURS
        {
            if self.differences.len() == DIFFERENCES {
                self.differences.pop_front();
            }
            self.differences.push_back((delay - last.delay).abs());
        }
        if self.samples.len() == MOST {
            self.samples.pop_front();
        }
        // Nearly in order: a packet that was overtaken goes a few places back.
        let place = self.samples.iter().rposition(|it| it.sent <= sent).map_or(0, |at| at + 1);
        self.samples.insert(place, Sample { sent, delay });
    }

    /// The samples of a report are complete. `horizon`: everything that left up to then and will come
    /// has come, but for what is late by more than `base + queue + 2 sigma`; it is the peer's time of
    /// the report by its clock. Returns whether the level is known anew.
    pub(crate) fn update(&mut self, now: i64, horizon: i64, rtt: f64) -> bool {
        self.update_sigma();
        let margin = self.level.map_or(f64::INFINITY, |level| level + 2.0 * self.sigma);
        let jitters = self.sigma >= if self.jitters { STILL } else { 2.0 * STILL };
        if jitters != self.jitters {
            // Levels of the two kinds do not compare.
            (self.jitters, self.level, self.base) = (jitters, None, Recent::least(MEMORY));
        }
        let enough = if !jitters {
            4
        } else {
            let wanted = 12.0 * self.sigma / self.threshold(rtt);
            ((wanted * wanted) as usize).clamp(32, 192)
        };
        let judged = |it: &&Sample| {
            it.sent >= self.judge_from
                && (!self.jitters
                    || margin.is_infinite()
                    || horizon as f64 - it.sent as f64 >= margin)
        };
        self.scratch.clear();
        let latest = self.samples.iter().rev().filter(judged).take(enough).map(|it| it.delay);
        self.scratch.extend(latest);
        if self.scratch.is_empty() || (self.jitters && self.scratch.len() < enough) {
            return false;
        }
        let rank = if !self.jitters { 0 } else { self.scratch.len() / 4 };
        let (_, &mut level, _) = self.scratch.select_nth_unstable_by(rank, f64::total_cmp);
        self.level = Some(level);
        self.chance = 2.5 * 1.36 * self.sigma() / (self.scratch.len() as f64).sqrt();
        if self.scratch.len() >= enough.min(64) || self.base.value().is_none() {
            self.base.record(now, level);
        }
        true
    }

    fn update_sigma(&mut self) {
        if self.differences.len() < 8 {
            return;
        }
        self.scratch.clear();
        self.scratch.extend(self.differences.iter().copied());
        let middle = self.scratch.len() / 2;
        let (_, &mut median, _) = self.scratch.select_nth_unstable_by(middle, f64::total_cmp);
        // The median of the difference of two normally distributed values is 0.954 deviations.
        self.sigma = median / 0.954;
    }

    /// Only packets that leave from `time` on say something about the queue.
    pub(crate) fn judge_from(&mut self, time: i64) {
        self.judge_from = time;
    }

    /// The delay without a queue, by both clocks; `None` without samples.
    pub(crate) fn base(&self) -> Option<f64> {
        self.base.value()
    }

    /// The standard deviation of a packet's delay, 0 where it is below a millisecond.
    pub(crate) fn sigma(&self) -> f64 {
        if self.jitters { self.sigma } else { 0.0 }
    }

    /// How long a packet waits in the queue of the path.
    pub(crate) fn queue(&self) -> f64 {
        match (self.level, self.base()) {
            (Some(level), Some(base)) => (level - base - self.chance).max(0.0),
            _ => 0.0,
        }
    }

    /// A queue longer than this is ours to shorten. `rtt` is the round-trip time of the path.
    pub(crate) fn threshold(&self, rtt: f64) -> f64 {
        LEAST_THRESHOLD.max(rtt / 10.0).max(self.sigma())
    }
}
