//! Packet n has the same jitter, the same chance of loss and of duplication whatever else the link does: experiments
//! that differ in one parameter differ by that parameter alone.

use mpt_link::{Channel, Distribution, Jitter, Loss, Outcome, Params, QueueLimit, Redraw};
use std::time::Duration;

use crate::common::{arrival, nanos, probability, rate, send_regularly, start};

const PACKETS: u32 = 5000;

fn base() -> Params {
    let distribution = Distribution::Normal { deviation: Duration::from_millis(2) };
    Params {
        delay: Duration::from_millis(20),
        jitter: Some(Jitter { distribution, redraw: Redraw::EveryPacket }),
        loss: Loss::Bernoulli(probability(0.05)),
        duplication: probability(0.05),
        ..Params::default()
    }
}

fn outcomes(params: Params) -> Vec<Outcome> {
    let start = start();
    let mut channel = Channel::new(start, params, [], 11);
    // Relative to a time of its own, so that runs can be compared.
    let mut outcomes = send_regularly(&mut channel, start, nanos(1000), 1000, PACKETS);
    let origin = *ORIGIN;
    for outcome in &mut outcomes {
        if let Outcome::Arrives { at, copy, .. } = outcome {
            *at = origin + (*at - start);
            *copy = copy.map(|copy| origin + (copy - start));
        }
    }
    outcomes
}

static ORIGIN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(start);

#[test]
fn more_loss_loses_more_of_the_same_packets() {
    let few = outcomes(base());
    let many = outcomes(Params { loss: Loss::Bernoulli(probability(0.2)), ..base() });
    let none = outcomes(Params { loss: Loss::None, ..base() });
    let bursts = Loss::bursts(probability(0.3), 4.0).expect("possible");
    let bursts = outcomes(Params { loss: bursts, ..base() });
    for n in 0..few.len() {
        let arrives = none[n];
        assert!(few[n] == arrives || few[n] == Outcome::Lost, "packet {n}");
        assert!(many[n] == few[n] || many[n] == Outcome::Lost, "packet {n}");
        assert!(bursts[n] == arrives || bursts[n] == Outcome::Lost, "packet {n}");
    }
    assert_ne!(few, many);
    assert_ne!(few, none);
}

#[test]
fn duplication_shifts_nothing() {
    let without = outcomes(Params { duplication: probability(0.0), ..base() });
    let more = outcomes(Params { duplication: probability(0.5), ..base() });
    let copies = |outcomes: &[Outcome]| -> Vec<Outcome> {
        let original = |&outcome: &Outcome| match outcome {
            Outcome::Arrives { at, .. } => Outcome::Arrives { at, copy: None, marked: false },
            other => other,
        };
        outcomes.iter().map(original).collect()
    };
    for (base, more) in outcomes(base()).into_iter().zip(&more) {
        if let Outcome::Arrives { copy: Some(_), .. } = base {
            assert_eq!(base, *more, "the copies there were are still there, at the same time");
        }
    }
    assert_eq!(copies(&more), without);
}

#[test]
fn jitter_and_delay_shift_no_loss() {
    let lost = |params| -> Vec<bool> {
        outcomes(params).into_iter().map(|outcome| outcome == Outcome::Lost).collect()
    };
    let expected = lost(base());
    let uniform = Distribution::Uniform { half_width: Duration::from_millis(1) };
    let jitter = |redraw| Some(Jitter { distribution: uniform, redraw });
    assert_eq!(lost(Params { jitter: None, ..base() }), expected);
    assert_eq!(lost(Params { jitter: jitter(Redraw::EveryPacket), ..base() }), expected);
    let held = jitter(Redraw::Every(Duration::from_millis(1)));
    assert_eq!(lost(Params { jitter: held, ..base() }), expected);
    assert_eq!(lost(Params { delay: Duration::ZERO, keep_order: true, ..base() }), expected);
}

#[test]
fn a_full_queue_shifts_nothing_for_those_it_takes() {
    // Rate and queue change when a packet leaves; jitter and loss stay its own.
    let bits = 1000 * 8;
    let limited = Params {
        rate: rate(4_000_000_000),
        queue: QueueLimit::Packets(2),
        loss: base().loss,
        ..base()
    };
    let limited = outcomes(limited);
    let unlimited = outcomes(base());
    let (mut full, mut busy_until) = (0, 0);
    for (n, (limited, unlimited)) in (0..).zip(limited.into_iter().zip(unlimited)) {
        if limited == Outcome::QueueFull {
            full += 1;
            continue;
        }
        let sent = n * 1000;
        busy_until = sent.max(busy_until) + bits / 4;
        let later = busy_until - sent;
        assert_eq!(
            arrival(*ORIGIN, limited),
            arrival(*ORIGIN, unlimited).map(|at| at + later),
            "packet {n}"
        );
    }
    assert!(full > 0, "the queue was never full");
}
