//! The random part of the delay.

use std::f64::consts::TAU;
use std::time::Duration;

use crate::random::Stream;

/// The random part of the delay, added to it. Its mean is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Jitter {
    /// Its distribution.
    pub distribution: Distribution,
    /// The times at which it changes.
    pub redraw: Redraw,
}

/// A distribution of mean 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Distribution {
    /// Uniform from `-half_width` to `half_width` (`netem`: `delay D half_width`).
    Uniform {
        /// Half the difference of its ends.
        half_width: Duration,
    },
    /// Normal (`netem`: `delay D deviation distribution normal`).
    Normal {
        /// Standard deviation.
        deviation: Duration,
    },
}

/// The times at which a random quantity changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Redraw {
    /// Each packet has its own.
    #[default]
    EveryPacket,
    /// It holds for this long, counted from the start of the link: conditions that wander, in which packets of one
    /// period keep their order. (0 counts as 1 ns.)
    Every(Duration),
}

impl Distribution {
    /// Takes two numbers drawn uniformly from [0, 1); gives nanoseconds.
    fn sample(self, [first, second]: [f64; 2]) -> i64 {
        match self {
            Self::Uniform { half_width } => rounded((2.0 * first - 1.0) * nanoseconds(half_width)),
            // Box and Muller 1958. Their second number is not used: then each packet takes the same number of draws.
            Self::Normal { deviation } => {
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - first));
                rounded(radius * libm::cos(TAU * second) * nanoseconds(deviation))
            }
        }
    }
}

/// The present value where [`Redraw::Every`] holds it.
#[derive(Clone, Debug)]
pub(crate) struct JitterProcess {
    /// Stream of the held values, which is never advanced: period k takes its k-th pair.
    wander: Stream,
    held: (u64, [f64; 2]),
}

impl JitterProcess {
    pub(crate) fn new(seed: u64) -> Self {
        let wander = Stream::new(seed, b"wander  ");
        let held = (0, wander.pair_at(0));
        Self { wander, held }
    }

    /// Nanoseconds to be added to the delay of a packet sent at `time` nanoseconds, with `drawn` of its own.
    pub(crate) fn next(&mut self, jitter: Option<Jitter>, time: u64, drawn: [f64; 2]) -> i64 {
        let Some(Jitter { distribution, redraw }) = jitter else { return 0 };
        match redraw {
            Redraw::EveryPacket => distribution.sample(drawn),
            Redraw::Every(period) => {
                let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
                let index = time / period;
                if self.held.0 != index {
                    self.held = (index, self.wander.pair_at(index));
                }
                distribution.sample(self.held.1)
            }
        }
    }
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

fn rounded(nanoseconds: f64) -> i64 {
    // The cast saturates.
    libm::round(nanoseconds) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_draws_are_finite() {
        let largest = 1.0 - f64::EPSILON / 2.0;
        let deviation = Duration::from_secs(1);
        let normal = Distribution::Normal { deviation };
        assert_eq!(normal.sample([0.0, 0.0]), 0);
        // sqrt(-2 ln 2^-53) = 8.57 deviations are the most there are.
        assert_eq!(normal.sample([largest, 0.0]) / 10_000_000, 857);
        let uniform = Distribution::Uniform { half_width: deviation };
        assert_eq!(uniform.sample([0.0, 0.0]), -1_000_000_000);
        assert_eq!(uniform.sample([largest, 0.0]), 1_000_000_000);
        let endless = Distribution::Normal { deviation: Duration::MAX };
        assert_eq!(endless.sample([largest, 0.0]), i64::MAX);
    }

    #[test]
    fn a_held_value_changes_with_the_period_only() {
        let jitter = Some(Jitter {
            distribution: Distribution::Uniform { half_width: Duration::from_millis(1) },
            redraw: Redraw::Every(Duration::from_nanos(100)),
        });
        let mut process = JitterProcess::new(1);
        let mut at = |time| process.next(jitter, time, [0.5, 0.5]);
        assert_eq!(at(0), at(99));
        assert_ne!(at(99), at(100));
        let later = at(100_000);
        assert_ne!(later, at(0));
        assert_eq!(later, at(100_099), "a period has one value, however often it is looked at");
    }
}
