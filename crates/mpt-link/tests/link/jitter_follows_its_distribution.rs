//! Jitter against its distribution by the test of Kolmogorov and Smirnov, at p = 0.001. Seeds are fixed: a failure is a
//! change of behaviour, never bad luck.

use mpt_link::{Channel, Distribution, Jitter, Params, Redraw};
use std::time::Duration;

use crate::common::{arrival, send_regularly, start};

const PACKETS: u32 = 100_000;
const DELAY: Duration = Duration::from_millis(10);

/// Nanoseconds by which each packet was later than the delay.
fn samples(distribution: Distribution, redraw: Redraw, spacing: Duration, seed: u64) -> Vec<f64> {
    let start = start();
    let params =
        Params { delay: DELAY, jitter: Some(Jitter { distribution, redraw }), ..Params::default() };
    let mut channel = Channel::new(start, params, [], seed);
    let outcomes = send_regularly(&mut channel, start, spacing, 1500, PACKETS);
    (0..)
        .zip(outcomes)
        .map(|(n, outcome)| {
            let sent = (spacing * n + DELAY).as_nanos() as f64;
            arrival(start, outcome).expect("nothing is lost") as f64 - sent
        })
        .collect()
}

/// The largest distance between the sample's distribution and the true one stays below the critical value
/// sqrt(-ln(0.001 / 2) / 2n), Kolmogorov's asymptotic one.
fn assert_distributed(mut samples: Vec<f64>, cumulative: impl Fn(f64) -> f64) {
    samples.sort_unstable_by(f64::total_cmp);
    let n = samples.len() as f64;
    let distance = (0..)
        .zip(&samples)
        .map(|(i, &sample)| {
            let (below, above) = (f64::from(i) / n, f64::from(i + 1) / n);
            let expected = cumulative(sample);
            (expected - below).abs().max((expected - above).abs())
        })
        .fold(0.0, f64::max);
    let critical = libm::sqrt(-libm::log(0.001 / 2.0) / (2.0 * n));
    assert!(distance < critical, "distance {distance}, critical {critical}");
}

fn normal(deviation: Duration) -> impl Fn(f64) -> f64 {
    move |x| 0.5 * libm::erfc(-x / (deviation.as_nanos() as f64 * std::f64::consts::SQRT_2))
}

fn uniform(half_width: Duration) -> impl Fn(f64) -> f64 {
    move |x| (0.5 + x / (2.0 * half_width.as_nanos() as f64)).clamp(0.0, 1.0)
}

#[test]
fn normal_per_packet() {
    // The delay is above 8.57 deviations, the most there is: nothing is cut off at 0.
    for (seed, micros) in [(1, 1), (2, 50), (3, 1000)] {
        let deviation = Duration::from_micros(micros);
        let spacing = Duration::from_micros(1);
        let distribution = Distribution::Normal { deviation };
        let samples = samples(distribution, Redraw::EveryPacket, spacing, seed);
        assert_distributed(samples, normal(deviation));
    }
}

#[test]
fn uniform_per_packet() {
    for (seed, micros) in [(1, 2), (2, 500), (3, 10_000)] {
        let half_width = Duration::from_micros(micros);
        let spacing = Duration::from_micros(1);
        let distribution = Distribution::Uniform { half_width };
        let samples = samples(distribution, Redraw::EveryPacket, spacing, seed);
        assert_distributed(samples, uniform(half_width));
    }
}

#[test]
fn held_values_are_distributed_alike() {
    let half_width = Duration::from_millis(2);
    let period = Duration::from_secs(1);
    let distribution = Distribution::Uniform { half_width };
    let samples = samples(distribution, Redraw::Every(period), period / 4, 1);
    let (held, rest) = samples.as_chunks::<4>();
    assert!(rest.is_empty());
    assert!(held.iter().all(|four| four.iter().all(|value| value == &four[0])));
    assert_distributed(held.iter().map(|four| four[0]).collect(), uniform(half_width));
}

#[test]
fn successive_values_are_independent() {
    // Among n independent uniform values in disjoint pairs, the second one of a pair is the larger one with the chance of a coin.
    let half_width = Duration::from_millis(2);
    let distribution = Distribution::Uniform { half_width };
    let spacing = Duration::from_micros(1);
    let samples = samples(distribution, Redraw::EveryPacket, spacing, 1);
    let rises = samples.chunks(2).filter(|pair| pair[1] > pair[0]).count() as u64;
    let interval = crate::common::binomial_interval(u64::from(PACKETS) / 2, 0.5);
    assert!(interval.contains(&rises), "{rises} not in {interval:?}");
}

#[test]
fn no_packet_arrives_before_it_has_been_sent() {
    let start = start();
    let distribution = Distribution::Normal { deviation: Duration::from_millis(50) };
    let jitter = Some(Jitter { distribution, redraw: Redraw::EveryPacket });
    let params = Params {
        delay: Duration::from_millis(1),
        jitter,
        rate: crate::common::rate(1_000_000),
        ..Params::default()
    };
    let mut channel = Channel::new(start, params, [], 1);
    let outcomes = send_regularly(&mut channel, start, Duration::ZERO, 125, 10_000);
    let mut at_once = 0;
    for (n, outcome) in (1..).zip(outcomes) {
        let (sent, arrival) = (n * 1_000_000, arrival(start, outcome).expect("nothing is lost"));
        assert!(arrival >= sent);
        at_once += u64::from(arrival == sent);
    }
    // All those that would have had a negative delay: below -1/50 of a deviation.
    let interval =
        crate::common::binomial_interval(10_000, normal(Duration::from_millis(50))(-1e6));
    assert!(interval.contains(&at_once), "{at_once} not in {interval:?}");
}
