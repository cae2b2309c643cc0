//! The delay of the data on a path: its base, its jitter, and the queue that stands in it.
//!
//! Delays are those of single packets: arrival by the peer's clock less departure by ours. The
//! difference of the clocks is the same in all of them, and cancels out with the base.

use std::collections::VecDeque;

use super::window::Recent;
use crate::sequence::Sequence;

/// The most samples that are kept.
const MOST: usize = 512;
/// The shortest time for which the least delay counts, in microseconds.
const MEMORY: i64 = 10_000_000;
/// Jitter below this is that of batches and clocks, in microseconds.
const STILL: f64 = 1_000.0;
/// The queue below which none is taken to stand, in microseconds.
const LEAST_THRESHOLD: f64 = 10_000.0;
/// Time within which two packets have to leave for their delays to show jitter and hardly a change
/// of the queue, in microseconds.
const NEIGHBOURS: i64 = 5_000;
/// The number of differences from which on they are a better estimate than probes.
const KNOWN: usize = 64;
/// The number of differences below which there is no estimate.
const FEWEST: usize = 8;
/// Packets that left this many deviations before the latest one that has arrived have arrived as
/// well.
const SETTLED: f64 = 4.0;
/// The factor by which the spread of probes exceeds that of neighbours where delays wander. By
/// chance it is up to 1.7 times as large, and a path that only jitters must not be taken for one
/// that wanders.
const WANDERS: f64 = 2.0;
/// The distance of the base of delays that jitter below their mean, in deviations: it is their
/// lower quartile.
pub(crate) const BELOW_MEAN: f64 = 0.67;
/// The assumed deviation of a path before any measurement, in microseconds.
const UNKNOWN: f64 = 5_000.0;
/// The number of samples from which on the jitter is known.
const ENOUGH_SAMPLES: usize = 32;

/// Most packets come within so many deviations after [`Delays::base`], which is a low quantile where delays jitter: 0.67 below the mean.
pub(crate) const USUAL: f64 = 2.0;
/// Nearly all packets come within so many deviations after [`Delays::base`]: 3 above the mean.
pub(crate) const LATEST: f64 = 3.67;
/// The distance from the least to the mean of delays that wander, in deviations.
pub(crate) const WANDERED: f64 = 2.5;
/// Delays that wander nearly always stay below this many deviations above their mean.
pub(crate) const WANDER_ABOVE: f64 = 3.0;

/// Returns the delay within which nearly all packets come where a queue of `threshold` stands, from the base delay, its jitter and its slow
/// variation. The receiver holds bulk for so long, and the sender counts with it.
pub(crate) fn latest_delay(base: f64, sigma: f64, wander: f64, threshold: f64) -> f64 {
    base + LATEST * sigma + WANDERED * wander + threshold
}

/// Returns the longest queue that is tolerated in a path of this round-trip time and jitter, all in
/// microseconds.
pub(crate) fn tolerated(rtt: f64, sigma: f64) -> f64 {
    LEAST_THRESHOLD.max(rtt / 10.0).max(sigma)
}

/// One packet with its send time and its delay, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    number: Sequence,
    sent: i64,
    delay: f64,
}

/// The estimates of the delays of one path. All times are microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    samples: VecDeque<Sample>,
    /// The least of the recent levels.
    base: Recent,
    /// A low quantile of the latest delays that can be judged.
    level: Option<f64>,
    sigma: f64,
    /// True if delays of this path jitter, so that a quantile of many counts and not the least.
    jitters: bool,
    /// The random error of the level.
    chance: f64,
    /// The send time before which packets say nothing about the present queue.
    judged_from: i64,
    /// The deviation that probes have measured, before there is enough data.
    prior: f64,
    /// True once packets that left next to each other have shown the deviation.
    measured: bool,
    scratch: Vec<f64>,
}

impl Delays {
    pub(crate) fn new() -> Self {
        Self {
            samples: VecDeque::new(),
            base: Recent::least(MEMORY),
            level: None,
            sigma: 0.0,
            jitters: false,
            chance: 0.0,
            judged_from: i64::MIN,
            prior: 0.0,
            measured: false,
            scratch: Vec::new(),
        }
    }

    /// Takes the packet of this number, which left at `sent` and took `delay`.
    pub(crate) fn record(&mut self, number: Sequence, sent: i64, delay: i64) {
        let delay = delay as f64;
        if self.samples.len() == MOST {
            self.samples.pop_front();
        }
        // Packets come nearly in order: one that was overtaken goes a few places back.
        let before = self.samples.iter().rposition(|it| !it.number.is_after(number));
        let place = before.map_or(0, |at| at + 1);
        self.samples.insert(place, Sample { number, sent, delay });
    }

    /// Notes that the samples of a report are complete. Everything that left up to `horizon` less
    /// `base + queue + 2 sigma` and will arrive has arrived; `horizon` is the time of the report by
    /// the peer's clock. Returns true if the level was measured anew.
    pub(crate) fn update(&mut self, now: i64, horizon: i64, rtt: f64) -> bool {
        self.update_sigma(horizon);
        let margin = self.level.map_or(f64::INFINITY, |level| level + 2.0 * self.sigma);
        let jitters = self.sigma >= if self.jitters { STILL } else { 2.0 * STILL };
        if jitters != self.jitters {
            // Levels of the two kinds do not compare with each other.
            (self.jitters, self.level, self.base) = (jitters, None, Recent::least(MEMORY));
        }
        let enough = if !jitters {
            4
        } else {
            let wanted = 12.0 * self.sigma / self.threshold(rtt);
            ((wanted * wanted) as usize).clamp(32, 192)
        };
        let judged = |it: &&Sample| {
            it.sent >= self.judged_from
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

    /// Takes the standard deviation that probes have measured. It counts until data gives a better
    /// estimate, since the queue of data spreads probes as well.
    pub(crate) fn set_prior(&mut self, sigma: f64) {
        if self.samples.is_empty() {
            self.prior = sigma;
        }
    }

    /// Does what [`Self::set_prior`] does where packets have come one by one, such as those of a ping:
    /// they leave no queue, and do not show how much neighbours differ. It only grows then.
    pub(crate) fn raise_prior(&mut self, sigma: f64) {
        if !self.measured {
            self.prior = self.prior.max(sigma);
        }
    }

    /// Measures the deviation by packets that left next to each other, long enough ago for all to
    /// have arrived. Packets that arrive next to each other have similar delays, since both were
    /// early or late.
    fn update_sigma(&mut self, horizon: i64) {
        let spread = SETTLED * self.sigma.max(self.prior).max(UNKNOWN);
        let least = self.samples.iter().map(|it| it.delay).fold(f64::INFINITY, f64::min);
        let margin = self.level.filter(|_| self.jitters).unwrap_or(least) + spread;
        let settled = |it: &Sample| horizon as f64 - it.sent as f64 >= margin;
        self.scratch.clear();
        for (it, next) in self.samples.iter().zip(self.samples.iter().skip(1)) {
            if settled(next) && next.sent - it.sent < NEIGHBOURS {
                self.scratch.push((next.delay - it.delay).abs());
            }
        }
        if self.scratch.len() < KNOWN {
            // Too few differences do not change a known estimate.
            self.sigma = self.sigma.max(self.prior);
            if self.scratch.len() < FEWEST {
                return;
            }
        }
        self.measured = true;
        let middle = self.scratch.len() / 2;
        let (_, &mut median, _) = self.scratch.select_nth_unstable_by(middle, f64::total_cmp);
        // The median of the difference of two normally distributed values is 0.954 deviations.
        let sigma = median / 0.954;
        self.sigma = if self.scratch.len() < KNOWN { sigma.max(self.sigma) } else { sigma };
    }

    /// Gives back the memory of the packets and keeps the estimates.
    pub(crate) fn rest(&mut self) {
        self.samples = VecDeque::new();
        self.scratch = Vec::new();
    }

    /// Lets only packets that leave from `time` on count for the queue.
    pub(crate) fn judge_from(&mut self, time: i64) {
        self.judged_from = time;
    }

    /// Returns the time from which on packets that leave count for the queue.
    pub(crate) const fn judged_from(&self) -> i64 {
        self.judged_from
    }

    /// Returns the delay without a queue, between both clocks, or `None` without samples.
    pub(crate) fn base(&self) -> Option<f64> {
        self.base.value()
    }

    /// Returns an early estimate of the delay without a queue, between both clocks, rather too high
    /// than too low, or `None` without samples. It serves until [`Self::base`] is known, which
    /// takes many packets where delays jitter.
    pub(crate) fn presumed_base(&self) -> Option<f64> {
        if self.base().is_some() || self.samples.is_empty() {
            return self.base();
        }
        let count = self.samples.len() as f64;
        let mean = self.samples.iter().map(|it| it.delay).sum::<f64>() / count;
        Some(mean + (2.0 / count.sqrt() - BELOW_MEAN) * self.sigma())
    }

    /// Returns the standard deviation of a packet's delay, or 0 where it is below a millisecond.
    pub(crate) fn sigma(&self) -> f64 {
        if self.samples.is_empty() && self.prior >= 2.0 * STILL {
            self.prior
        } else if self.jitters {
            self.sigma
        } else {
            0.0
        }
    }

    /// Returns the random error of the level.
    pub(crate) fn chance(&self) -> f64 {
        self.chance
    }

    /// Returns true if enough neighbours have shown how much delays differ.
    pub(crate) fn knows_jitter(&self) -> bool {
        self.samples.len() > ENOUGH_SAMPLES
    }

    /// Returns how long a packet waits in the queue of the path.
    pub(crate) fn queue(&self) -> f64 {
        match (self.level, self.base()) {
            (Some(level), Some(base)) => (level - base - self.chance).max(0.0),
            _ => 0.0,
        }
    }

    /// Returns the standard deviation of slow changes of the delay, such as those of a radio link
    /// that changes every 100 ms, or 0 where there are none. Probes show them, and neighbouring
    /// packets do not.
    pub(crate) fn wander(&self) -> f64 {
        let sigma = self.sigma();
        if self.prior < 2.0 * STILL || self.prior < WANDERS * sigma {
            return 0.0;
        }
        (self.prior * self.prior - sigma * sigma).sqrt()
    }

    /// Returns the queue above which the path is given less, since a delay that wanders is no
    /// queue. `rtt` is the round-trip time of the path.
    pub(crate) fn threshold(&self, rtt: f64) -> f64 {
        self.threshold_at(1.0, rtt)
    }

    /// Returns the queue that stands if the path's own queue is this `share` of the tolerated one.
    /// A delay that wanders does so whatever the queue, and counts in full.
    pub(crate) fn threshold_at(&self, share: f64, rtt: f64) -> f64 {
        share * tolerated(rtt, self.sigma()) + WANDER_ABOVE * self.wander()
    }
}
