//! Losses and copies are inside the 99.9 % interval of their distribution. Seeds are fixed: a failure is a change of
//! behaviour, never bad luck.

use mpt_link::{Channel, Loss, Outcome, Params};
use std::time::Duration;

use crate::common::{binomial_interval, probability, send_regularly, start};

const PACKETS: u32 = 100_000;

fn lost(loss: Loss, seed: u64) -> Vec<bool> {
    let start = start();
    let mut channel = Channel::new(start, Params { loss, ..Params::default() }, [], seed);
    let outcomes = send_regularly(&mut channel, start, Duration::from_micros(1), 1500, PACKETS);
    let lost: Vec<bool> = outcomes.into_iter().map(|outcome| outcome == Outcome::Lost).collect();
    let count = lost.iter().filter(|&&lost| lost).count() as u64;
    assert_eq!(channel.counters().lost.packets, count);
    lost
}

#[test]
fn bernoulli() {
    for p in [0.0001, 0.001, 0.01, 0.05, 0.5, 0.999] {
        for seed in 0..5 {
            let lost = lost(Loss::Bernoulli(probability(p)), seed);
            let count = lost.iter().filter(|&&lost| lost).count() as u64;
            let interval = binomial_interval(PACKETS.into(), p);
            assert!(interval.contains(&count), "p {p}, seed {seed}: {count} not in {interval:?}");

            // Independent: the number of pairs lost in a row, disjoint so that they are trials of their own.
            let pairs = lost.chunks(2).filter(|pair| *pair == [true, true]).count() as u64;
            let interval = binomial_interval(u64::from(PACKETS) / 2, p * p);
            assert!(interval.contains(&pairs), "p {p}, seed {seed}: {pairs} not in {interval:?}");
        }
    }
}

#[test]
fn nothing_and_everything() {
    assert!(lost(Loss::None, 1).iter().all(|&lost| !lost));
    assert!(lost(Loss::Bernoulli(probability(0.0)), 1).iter().all(|&lost| !lost));
    assert!(lost(Loss::Bernoulli(probability(1.0)), 1).iter().all(|&lost| lost));
}

#[test]
fn gilbert_elliott() {
    let models = [
        Loss::bursts(probability(0.01), 5.0).expect("possible"),
        Loss::bursts(probability(0.2), 2.0).expect("possible"),
        Loss::GilbertElliott {
            to_bad: probability(0.02),
            to_good: probability(0.3),
            loss_good: probability(0.001),
            loss_bad: probability(0.7),
        },
    ];
    for model in models {
        let Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } = model else {
            unreachable!("they all are")
        };
        let (p, r) = (to_bad.value(), to_good.value());
        let (good, bad) = (loss_good.value(), loss_bad.value());
        // The variance of the number of losses is that of a two-state Markov chain, whose autocovariance falls by 1 - p - r per packet. The shares
        // are far from 0 and 1 here, so that the central limit theorem holds.
        let share = p / (p + r);
        let mean = model.mean().value();
        let state = share * (1.0 - share) * (bad - good) * (bad - good);
        let decay = 1.0 - p - r;
        let variance = mean * (1.0 - mean) + 2.0 * state * decay / (1.0 - decay);
        let half_width = 3.2905 * libm::sqrt(variance / f64::from(PACKETS));
        for seed in 0..5 {
            let lost = lost(model, seed);
            let measured = lost.iter().filter(|&&lost| lost).count() as f64 / f64::from(PACKETS);
            let error = (measured - mean).abs();
            assert!(
                error <= half_width,
                "{model:?}, seed {seed}: {measured}, {mean} +- {half_width}"
            );
        }
    }
}

#[test]
fn bursts_are_as_long_as_asked_for() {
    let length = 5.0;
    for seed in 0..5 {
        let lost = lost(Loss::bursts(probability(0.05), length).expect("possible"), seed);
        let total = lost.iter().filter(|&&lost| lost).count() as u64;
        // A burst ends after each of its packets with probability 1 / length: the ends are binomial.
        let ends = lost.windows(2).filter(|pair| *pair == [true, false]).count() as u64;
        let interval = binomial_interval(total, 1.0 / length);
        assert!(interval.contains(&ends), "seed {seed}: {ends} bursts not in {interval:?}");
    }
}

#[test]
fn copies() {
    for p in [0.001, 0.1] {
        let start = start();
        let params = Params { duplication: probability(p), ..Params::default() };
        let mut channel = Channel::new(start, params, [], 1);
        let outcomes = send_regularly(&mut channel, start, Duration::from_micros(1), 100, PACKETS);
        let copies = outcomes
            .into_iter()
            .filter(|outcome| matches!(outcome, Outcome::Arrives { copy: Some(_), .. }))
            .count() as u64;
        let interval = binomial_interval(PACKETS.into(), p);
        assert!(interval.contains(&copies), "p {p}: {copies} not in {interval:?}");
        assert_eq!(channel.counters().duplicated.packets, copies);
        assert_eq!(channel.counters().duplicated.bytes, copies * 100);
    }
}

#[test]
fn binomial_interval_is_that_of_the_tables() {
    // 10 tosses of a coin: P(0) = 0.00098 > 0.0005, so nothing is left out; 20: P(0..=2) = 0.0002, P(3) = 0.0011.
    assert_eq!(binomial_interval(10, 0.5), 0..=10);
    assert_eq!(binomial_interval(20, 0.5), 3..=17);
}
