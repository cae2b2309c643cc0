//! Helpers of several tests.
#![allow(dead_code, unreachable_pub)]

use std::time::{Duration, Instant};

use mpt_link::{Bitrate, Channel, Outcome, Probability};

/// Any time will do: only differences count.
#[expect(clippy::disallowed_methods, reason = "there is no other way to make one")]
pub fn start() -> Instant {
    Instant::now()
}

pub fn nanos(nanoseconds: u64) -> Duration {
    Duration::from_nanos(nanoseconds)
}

pub fn rate(bits_per_second: u64) -> Option<Bitrate> {
    Some(Bitrate::new(bits_per_second).expect("not 0"))
}

pub fn probability(value: f64) -> Probability {
    Probability::new(value).expect("from 0 to 1")
}

/// Sends `count` packets of `size` bytes, one every `spacing`.
pub fn send_regularly(
    channel: &mut Channel,
    start: Instant,
    spacing: Duration,
    size: u64,
    count: u32,
) -> Vec<Outcome> {
    (0..count).map(|n| channel.send(start + spacing * n, mpt_link::ByteCount(size))).collect()
}

/// Nanoseconds after `start` at which a packet arrives.
pub fn arrival(start: Instant, outcome: Outcome) -> Option<u64> {
    match outcome {
        Outcome::Arrives { at, .. } => Some((at - start).as_nanos() as u64),
        Outcome::Lost | Outcome::QueueFull => None,
    }
}

/// The smallest and largest number of successes in `trials` that a 99.9 % interval of the binomial distribution holds:
/// each tail beyond has at most 0.05 %. Exact.
pub fn binomial_interval(trials: u64, probability: f64) -> std::ops::RangeInclusive<u64> {
    let ln_choose = |k: u64| {
        libm::lgamma(trials as f64 + 1.0)
            - libm::lgamma(k as f64 + 1.0)
            - libm::lgamma((trials - k) as f64 + 1.0)
    };
    let mass = |k: u64| {
        let failures = (trials - k) as f64;
        libm::exp(
            ln_choose(k) + k as f64 * libm::log(probability) + failures * libm::log1p(-probability),
        )
    };
    let end = |numbers: &mut dyn Iterator<Item = u64>| {
        let mut tail = 0.0;
        for k in numbers {
            tail += mass(k);
            if tail > 0.0005 {
                return k;
            }
        }
        unreachable!("the masses add up to 1")
    };
    end(&mut (0..=trials))..=end(&mut (0..=trials).rev())
}
