//! One flow over networks that are drawn at random: is the tunnel ever worse than its best path alone?
//!
//! The other experiments have networks that somebody chose, and a tunnel can be made for them. Here each seed draws one of its own, from what
//! uplinks are known to be, so that nobody knows in advance which one will be the worst.

use std::fmt::Write;
use std::time::Duration;

use mpt_link::{Loss, Probability, Redraw};
use mpt_report::statistics::percentile;

use crate::kernel::random::Stream;
use crate::report::{Report, Table};
use crate::tunnel::{Path, Record};

use super::super::{Experiment, Setting};
use super::hard::{OFTEN, SLOT};
use super::method::Method;
use super::one_flow::Span;
use super::runs::{self, is_chosen, seeds};

/// The parts by their names, and the number of paths that their networks have.
const PARTS: [(&str, usize); 2] = [("two-paths", 2), ("three-paths", 3)];

/// The names of the parts.
pub(in super::super) const NAMES: [&str; 2] = [PARTS[0].0, PARTS[1].0];

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
/// The least rate that a tunnel may carry, as a share of what its best path carries alone.
const NEARLY_ALL: f64 = 0.9;

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let seeds = seeds(experiment, setting);
    let parts: Vec<usize> = PARTS
        .iter()
        .filter(|(name, _)| is_chosen(setting, name))
        .map(|&(_, paths)| paths)
        .collect();
    let methods = |paths: usize| -> Vec<Method> {
        let all = (0..paths).map(Method::Alone).chain([Method::Adaptive]);
        all.filter(|method| method.is_chosen(setting.methods)).collect()
    };
    let of_part =
        |&paths: &usize| methods(paths).into_iter().map(move |method| ((paths, method), seeds));
    let cases: Vec<((usize, Method), u64)> = parts.iter().flat_map(of_part).collect();
    let scene = |&(paths, method): &(usize, Method), seed| {
        method.scene(draw(seed, paths), Span::USUAL.duration, seed)
    };
    let Span { from, to, .. } = Span::USUAL;
    let measure = |_: &_, record: &Record| record.goodput(0, from, to);
    let runs = runs::run(setting, &cases, scene, measure);

    let mut rest = runs.cases.into_iter();
    let mut drawn = Vec::new();
    for paths in parts {
        let methods = methods(paths);
        let rates: Vec<Vec<f64>> = rest.by_ref().take(methods.len()).collect();
        for index in 0..seeds {
            let seed = setting.first_seed + index;
            let mut rates: Vec<f64> = rates.iter().map(|of| of[index as usize]).collect();
            let tunnel = rates.pop_if(|_| methods.contains(&Method::Adaptive)).unwrap_or(f64::NAN);
            drawn.push(Drawn { seed, links: draw(seed, paths), alone: rates, tunnel });
        }
    }
    drawn.sort_by(|a, b| a.gain().total_cmp(&b.gain()));
    let mut report = experiment.report(setting);
    report.tables = vec![distribution(&drawn), table(&drawn)];
    report.misses = drawn.iter().filter_map(Drawn::miss).collect();
    report.traces = runs.traces;
    report
}

/// A network, and what a flow carried over it, in Mbit/s.
struct Drawn {
    seed: u64,
    links: Vec<Path>,
    /// The rates over those of its paths alone that were run.
    alone: Vec<f64>,
    /// The rate of the tunnel; NaN if it was not run.
    tunnel: f64,
}

impl Drawn {
    /// Returns the rate of the best of its paths alone that were run; NaN if none was.
    fn best(&self) -> f64 {
        self.alone.iter().copied().fold(f64::NAN, f64::max)
    }

    /// Returns the rate of the tunnel as a share of what the best path carries alone.
    fn gain(&self) -> f64 {
        self.tunnel / self.best()
    }

    fn text(&self) -> String {
        self.links.iter().map(described).collect::<Vec<_>>().join("; ")
    }

    fn miss(&self) -> Option<String> {
        let Self { seed, tunnel, .. } = self;
        let (best, text) = (self.best(), self.text());
        (self.gain() < NEARLY_ALL).then(|| {
            format!(
                "seed {seed}, {text}: {tunnel:.1} Mbit/s, the best path alone carries {best:.1}"
            )
        })
    }
}

/// Returns the network of a seed.
fn draw(seed: u64, paths: usize) -> Vec<Path> {
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
fn between(random: &mut Stream, [least, most]: [f64; 2]) -> f64 {
    least * libm::pow(most / least, random.unit())
}

fn milliseconds(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1e3)
}

fn described(path: &Path) -> String {
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

/// Returns how often the tunnel carries how much of what the best path carries alone.
fn distribution(drawn: &[Drawn]) -> Table {
    let gains: Vec<f64> = drawn.iter().map(Drawn::gain).collect();
    let title = "The rate of the tunnel as a share of what its best path carries alone";
    let too_little = format!("below {NEARLY_ALL}");
    let heading = ["networks", "least", "5 %", "median", "95 %", "most", "below 1", &too_little];
    let mut table = Table::new(title, heading);
    let below = |bound: f64| gains.iter().filter(|&&gain| gain < bound).count().to_string();
    let of = [0.0, 5.0, 50.0, 95.0, 100.0].map(|at| format!("{:.2}", percentile(&gains, at)));
    let start = [gains.len().to_string()];
    table.rows.push(start.into_iter().chain(of).chain([below(1.0), below(NEARLY_ALL)]).collect());
    table
}

/// Returns a row for each network, the worst first.
fn table(drawn: &[Drawn]) -> Table {
    let heading = ["seed", "network", "paths alone", "tunnel", "tunnel / best"];
    let mut table = Table::new("Mbit/s from 3 to 10 s, the worst network first", heading);
    table.rows = drawn
        .iter()
        .map(|it| {
            let alone: Vec<String> = it.alone.iter().map(|rate| format!("{rate:.1}")).collect();
            vec![
                it.seed.to_string(),
                it.text(),
                alone.join(", "),
                format!("{:.1}", it.tunnel),
                format!("{:.2}", it.gain()),
            ]
        })
        .collect();
    table
}
