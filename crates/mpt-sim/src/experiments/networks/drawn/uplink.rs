//! The networks that are drawn: uplinks whose properties do not change.

use std::fmt::Write;
use std::time::Duration;

use mpt_link::{Loss, Probability, Redraw};

use super::super::hard::{OFTEN, SLOT};
use crate::kernel::random::Stream;
use crate::tunnel::Path;

/// Component of the seed that the networks are drawn from.
const COMPONENT: u64 = 1 << 41;
/// Rates from slow DSL to what a simulation of some seconds can carry, in Mbit/s.
const RATES: [f64; 2] = [4.0, 300.0];
/// Delays one way, from fibre in the same town to the other side of the earth, in ms.
const DELAYS: [f64; 2] = [2.0, 150.0];
/// The longest wait in a queue, in ms.
const QUEUES: [f64; 2] = [10.0, 300.0];
/// Shares of lost packets, where some are lost.
const LOSSES: [f64; 2] = [0.000_5, 0.03];
/// The mean number of packets that are lost in a row, where losses come in bursts.
const BURSTS: [f64; 2] = [2.0, 20.0];
/// The greatest standard deviation of a delay, in ms; half of the delay where that is less.
const MOST_JITTER: f64 = 25.0;

/// Returns the network of a seed.
pub(super) fn draw(seed: u64, paths: usize) -> Vec<Path> {
    let mut random = Stream::new(seed, COMPONENT + paths as u64);
    (0..paths).map(|_| uplink(&mut random)).collect()
}

fn uplink(random: &mut Stream) -> Path {
    let delay = between(random, DELAYS);
    let mut path = Path::new(between(random, RATES).round() as u16, milliseconds(delay));
    path.queue = milliseconds(between(random, QUEUES));
    // The numbers are drawn whether they are used or not, so that one property never changes the others.
    let (jitter, wanders) = (random.unit() * MOST_JITTER.min(delay / 2.0), random.unit() < 0.5);
    if random.unit() < 0.5 {
        path.jitter = milliseconds(jitter);
        path.redraw = if wanders { Redraw::Every(OFTEN) } else { Redraw::EveryPacket };
    }
    let (loss, length) = (between(random, LOSSES), between(random, BURSTS));
    let mean = Probability::new(loss).unwrap_or_default();
    path.loss = match random.unit() {
        0.0..0.5 => Loss::None,
        0.5..0.9 => mean.into(),
        _ => Loss::bursts(mean, length).unwrap_or(mean.into()),
    };
    path.fair = random.unit() < 0.15;
    if random.unit() < 0.15 {
        path.slot = SLOT;
    }
    path
}

/// Returns a number between two bounds whose logarithm is uniform.
pub(super) fn between(random: &mut Stream, bounds: [f64; 2]) -> f64 {
    at(bounds, random.unit())
}

/// Returns the number at this share of the way between two bounds, by logarithms.
pub(super) fn at([least, most]: [f64; 2], share: f64) -> f64 {
    least * libm::pow(most / least, share)
}

pub(super) fn milliseconds(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1e3)
}

pub(super) fn described(path: &Path) -> String {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let mut text = format!(
        "{} Mbit/s, {:.0} ms",
        path.rate.bits_per_second() / 1_000_000,
        milliseconds(path.delay)
    );
    let mut add = |what: std::fmt::Arguments<'_>| {
        // A string takes everything that is written to it.
        let _ = text.write_fmt(what);
    };
    if !path.jitter.is_zero() {
        let how = if path.redraw == Redraw::EveryPacket { "±" } else { "wanders ±" };
        add(format_args!(" {how}{:.1}", milliseconds(path.jitter)));
    }
    match path.loss {
        Loss::None => {}
        Loss::GilbertElliott { .. } => {
            add(format_args!(", {:.2} % lost in bursts", 100.0 * path.loss.mean().value()));
        }
        Loss::Bernoulli(_) => add(format_args!(", {:.2} % lost", 100.0 * path.loss.mean().value())),
    }
    if path.fair {
        add(format_args!(", FQ-CoDel"));
    } else {
        add(format_args!(", queue {:.0} ms", milliseconds(path.queue)));
    }
    if !path.slot.is_zero() {
        add(format_args!(", slots"));
    }
    text
}
