//! Advice on the receive window and the maximum delay for given paths, and the throughput of one
//! TCP flow through the tunnel with them. This is arithmetic only, and no packet passes it.
//!
//! The window has to hold the numbers that the faster paths bring while a number of the slowest path
//! is on its way: the packet rate of all paths together times the *spread*, by which the slowest
//! packet comes after the fastest. A flow whose numbers fit fills the paths, however much larger the
//! window is. One whose numbers do not fit loses packets, or has them late, whenever it is about to,
//! and is left with some share of what the window holds: [`throughput`], the constants of which were
//! fitted to simulated flows and checked on others (docs/simulation.md, `mpt-sim run tunnel-model`).
//!
//! All this is about paths as they are. If a session makes them equally long for TCP ([`crate::reorder::Equalize`]), the numbers in the window are
//! fewer, and the advice is on the safe side; only the maximum delay has to be that long there, too.
//!
//! The results are the same on every machine, since the operations are those of IEEE 754.

use std::time::Duration;

use thiserror::Error;

use crate::ConnectionConfig;
use crate::reorder::MAX_DELAY_LIMIT;

/// Bytes that a full packet takes on the link: an MTU of 1500 and an Ethernet header.
const FRAME: f64 = 1514.0;
/// TCP payload in it: less Ethernet (14), outer IPv4, UDP and GRE with a number (36), inner IPv4 and
/// TCP with timestamps (52).
const PAYLOAD: f64 = 1412.0;
/// Deviations that a packet is early or late at the most: normally distributed, one in 30,000 is
/// further from the mean.
const DEVIATIONS: f64 = 4.0;
/// The fastest path that there is, in bits per second.
pub const MAX_RATE: u64 = 1_000_000_000_000;
/// The papers' "few" round-trip times (almasi2017, section 4.3).
const FEW: u32 = 3;
/// Added to the maximum delay: queues are not equally full all the time.
const LEEWAY: Duration = Duration::from_millis(10);
/// No larger weight is recommended where the ratio of the rates is not one of small numbers.
pub const LARGEST_WEIGHT: u16 = 1000;
/// No smaller window is recommended: it costs nothing, and a queue may come from anywhere.
const LEAST_WINDOW: u64 = 64;

/// The throughput that a window leaves that is too small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Share of the paths for a window as large as the span.
    pub share: f64,
    /// Packets that count as if the window were larger by them.
    pub offset: f64,
}

impl Model {
    /// Fitted to the cells of `mpt-sim run tunnel-model`, which prints them anew.
    pub const FITTED: Self = Self { share: 0.45, offset: 7.5 };

    /// Share of what the paths carry that one TCP flow has, given how many packets come within the
    /// spread, and in how many numbers one is of the rarest path.
    #[must_use]
    pub fn share_of_paths(&self, span: f64, spacing: f64, window: f64) -> f64 {
        if window >= span + spacing {
            1.0
        } else {
            (self.share * (window + self.offset) / span).min(1.0)
        }
    }
}

/// The properties of a path, in the direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The rate of the path, in bits per second of whole frames.
    pub rate: u64,
    /// The one-way delay without any queue.
    pub delay: Duration,
    /// Standard deviation of that.
    pub jitter: Duration,
}

/// The settings that suit some paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Weights in the ratio of the rates, by path.
    pub weights: Vec<u16>,
    /// By how much the slowest packet comes after the fastest.
    pub spread: Duration,
    /// Receive window in packets.
    pub window: u16,
    /// The longest that a packet should wait there.
    pub max_delay: Duration,
    /// The throughput of one TCP flow, in bits per second of payload.
    pub throughput: f64,
}

/// Why there is no advice.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AdviceError {
    /// There is nothing to advise on.
    #[error("there is no path")]
    NoPath,
    /// More than a connection can have.
    #[error("there are more than {} paths", ConnectionConfig::MAX_PATHS)]
    TooManyPaths,
    /// The rate is not from 1 bit/s to [`MAX_RATE`].
    #[error("path {}: a rate must be from 1 bit/s to 1 Tbit/s", index + 1)]
    Rate {
        /// The index of the path, from 0.
        index: usize,
    },
    /// Delay or jitter is above [`MAX_DELAY_LIMIT`].
    #[error("path {}: delay and jitter must be an hour at most", index + 1)]
    Delay {
        /// The index of the path, from 0.
        index: usize,
    },
}

/// Weights, window and maximum delay for these paths.
///
/// The maximum delay is the spread, a quarter of it and 10 ms; the window holds what the paths bring
/// within that. Both have their limits (65,535 packets, [`MAX_DELAY_LIMIT`]), and `throughput` says
/// what the limits cost.
///
/// # Errors
///
/// Paths that cannot be.
pub fn advise(paths: &[Path]) -> Result<Advice, AdviceError> {
    check(paths)?;
    let spread = spread(paths);
    let max_delay = (spread + spread / 4 + LEEWAY).min(MAX_DELAY_LIMIT);
    let needed = line_rate_rule(paths, max_delay).saturating_add(spacing(paths) as u64);
    let window = needed.clamp(LEAST_WINDOW, u64::from(u16::MAX)) as u16;
    Ok(Advice {
        weights: weights(&paths.iter().map(|path| path.rate).collect::<Vec<_>>(), LARGEST_WEIGHT),
        spread,
        window,
        max_delay,
        throughput: throughput(paths, window),
    })
}

/// Returns what one TCP flow will carry over these paths with their [`weights`], a receive window of `window`
/// packets and a maximum delay that is not shorter than the [`spread`], in bits per second of payload:
/// without loss, and once its transient is over. Late packets are dropped; where they are delivered,
/// TCP may get used to them and carry more. 0 without paths.
#[must_use]
pub fn throughput(paths: &[Path], window: u16) -> f64 {
    let (span, spacing) = (span(paths, spread(paths)), spacing(paths));
    capacity(paths) * Model::FITTED.share_of_paths(span, spacing, f64::from(window))
}

/// Returns what the paths carry of TCP payload, in bits per second.
#[must_use]
pub fn capacity(paths: &[Path]) -> f64 {
    packet_rate(paths) * PAYLOAD * 8.0
}

/// By how much the slowest packet comes after the fastest that was sent at the same time.
#[must_use]
pub fn spread(paths: &[Path]) -> Duration {
    let late = |path: &Path| path.delay.saturating_add(path.jitter.mul_f64(DEVIATIONS));
    let early = |path: &Path| path.delay.saturating_sub(path.jitter.mul_f64(DEVIATIONS));
    let (late, early) = (paths.iter().map(late).max(), paths.iter().map(early).min());
    late.unwrap_or_default().saturating_sub(early.unwrap_or_default())
}

/// The rule of imareen2025 (section 2.2) for the window, in packets: what arrives at the full rate of
/// all paths within the maximum delay.
#[must_use]
pub fn line_rate_rule(paths: &[Path], max_delay: Duration) -> u64 {
    span(paths, max_delay) as u64 + 1
}

/// The rule of thumb of almasi2017 (section 4.3) for the maximum delay: a few times, here three, the
/// round-trip time of the slowest path, which is taken for twice its delay.
#[must_use]
pub fn round_trip_rule(paths: &[Path]) -> Duration {
    let slowest = paths.iter().map(|path| path.delay).max();
    slowest.unwrap_or_default().saturating_mul(2 * FEW)
}

/// Weights in the ratio of the rates (almasi2017, equation 1): exact where they reduce to at most
/// `largest`, else the largest of them is that, and the others are the nearest that fit.
#[must_use]
pub fn weights(rates: &[u64], largest: u16) -> Vec<u16> {
    let largest = u64::from(largest);
    let common = rates.iter().copied().fold(0, gcd).max(1);
    let most = rates.iter().copied().max().unwrap_or(1).max(1);
    let weight = |&rate: &u64| {
        let weight = if most / common <= largest {
            rate / common
        } else {
            let (rate, largest, most) = (u128::from(rate), u128::from(largest), u128::from(most));
            ((rate * largest + most / 2) / most) as u64
        };
        weight.clamp(1, largest) as u16
    };
    rates.iter().map(weight).collect()
}

fn check(paths: &[Path]) -> Result<(), AdviceError> {
    if paths.is_empty() {
        return Err(AdviceError::NoPath);
    }
    if paths.len() > ConnectionConfig::MAX_PATHS {
        return Err(AdviceError::TooManyPaths);
    }
    for (index, path) in paths.iter().enumerate() {
        if !(1..=MAX_RATE).contains(&path.rate) {
            return Err(AdviceError::Rate { index });
        }
        if path.delay.max(path.jitter) > MAX_DELAY_LIMIT {
            return Err(AdviceError::Delay { index });
        }
    }
    Ok(())
}

/// Full packets per second over all paths.
fn packet_rate(paths: &[Path]) -> f64 {
    paths.iter().map(|path| path.rate as f64).sum::<f64>() / (8.0 * FRAME)
}

/// Packets that come within a time.
#[must_use]
pub fn span(paths: &[Path], time: Duration) -> f64 {
    packet_rate(paths) * time.as_secs_f64()
}

/// One number in so many is of the path with the smallest weight.
#[must_use]
pub fn spacing(paths: &[Path]) -> f64 {
    let rates = || paths.iter().map(|path| path.rate as f64);
    let least = rates().fold(f64::INFINITY, f64::min);
    if least > 0.0 { rates().sum::<f64>() / least } else { 0.0 }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(megabits: u64, delay: u64, jitter: u64) -> Path {
        let milliseconds = Duration::from_millis;
        let rate = megabits * 1_000_000;
        Path { rate, delay: milliseconds(delay), jitter: milliseconds(jitter) }
    }

    #[test]
    fn window_and_delay_follow_from_the_spread() {
        let paths = [path(100, 5, 0), path(50, 45, 0)];
        let advice = advise(&paths).unwrap();
        assert_eq!(advice.weights, [2, 1]);
        assert_eq!(advice.spread, Duration::from_millis(40));
        assert_eq!(advice.max_delay, Duration::from_millis(60));
        // 150 Mbit/s in packets of 1514 bytes for 60 ms are 743.06, and one in three is of path 2.
        assert_eq!(advice.window, 744 + 3);
        assert_eq!(advice.throughput, capacity(&paths));
        assert!((advice.throughput / 139.894e6 - 1.0).abs() < 1e-4, "{}", advice.throughput);
    }

    #[test]
    fn jitter_counts_on_both_sides_but_not_before_the_start() {
        assert_eq!(spread(&[path(10, 20, 2), path(10, 20, 2)]), Duration::from_millis(16));
        assert_eq!(spread(&[path(10, 2, 2), path(10, 2, 2)]), Duration::from_millis(10));
        assert_eq!(spread(&[path(10, 20, 0)]), Duration::ZERO);
        assert_eq!(spread(&[]), Duration::ZERO);
    }

    #[test]
    fn a_larger_window_never_carries_less() {
        let paths = [path(100, 0, 0), path(10, 50, 1)];
        let mut before = 0.0;
        for window in 0..2000 {
            let carried = throughput(&paths, window);
            assert!(carried >= before && carried <= capacity(&paths), "{window}");
            before = carried;
        }
        assert_eq!(before, capacity(&paths));
    }

    #[test]
    fn limits_are_kept_and_their_price_is_told() {
        let advice = advise(&[path(100_000, 0, 0), path(100_000, 1000, 0)]).unwrap();
        assert_eq!(advice.window, u16::MAX);
        assert!(advice.throughput < 2e9, "{}", advice.throughput);
        let long = Path { delay: MAX_DELAY_LIMIT, ..path(1, 0, 0) };
        assert_eq!(advise(&[long, path(1, 0, 0)]).unwrap().max_delay, MAX_DELAY_LIMIT);
        assert_eq!(advise(&[path(1, 0, 0)]).unwrap().window, 64);
    }

    #[test]
    fn the_papers_rules() {
        let paths = [path(1000, 0, 0), path(500, 5, 0)];
        // imareen2025, figure 10: full from 800 packets on; the rule asks for what 300 ms bring.
        assert_eq!(line_rate_rule(&paths, Duration::from_millis(300)), 37_154);
        assert_eq!(round_trip_rule(&paths), Duration::from_millis(30));
    }

    #[test]
    fn weights_are_small_numbers_in_the_ratio_of_the_rates() {
        let of = |rates: &[u64]| weights(rates, LARGEST_WEIGHT);
        assert_eq!(of(&[94_000_000, 121_000_000]), [94, 121]);
        assert_eq!(of(&[1_000_000_007, 500_000_003]), [1000, 500]);
        assert_eq!(of(&[10_000_000_001, 1]), [1000, 1]);
        assert_eq!(of(&[u64::MAX, u64::MAX]), [1, 1]);
        assert_eq!(of(&[0, 0]), [1, 1]);
    }

    #[test]
    fn paths_that_cannot_be_are_refused() {
        assert_eq!(advise(&[]), Err(AdviceError::NoPath));
        assert_eq!(advise(&[path(1, 0, 0); 257]), Err(AdviceError::TooManyPaths));
        assert_eq!(advise(&[path(1, 0, 0), path(0, 0, 0)]), Err(AdviceError::Rate { index: 1 }));
        let hours = Duration::from_secs(7200);
        for long in
            [Path { delay: hours, ..path(1, 0, 0) }, Path { jitter: hours, ..path(1, 0, 0) }]
        {
            assert_eq!(advise(&[long]), Err(AdviceError::Delay { index: 0 }));
        }
    }
}
