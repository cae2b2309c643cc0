//! One flow over networks that are drawn at random: is the tunnel ever worse than its best path alone?
//!
//! The other experiments have networks that somebody chose, and a tunnel can be made for them. Here each seed draws one of its own, from what
//! uplinks are known to be, so that nobody knows in advance which one will be the worst.

mod course;
mod uplink;

use std::time::Duration;

use mpt_report::statistics::percentile;

use self::course::{Changes, Course};
use super::super::{Experiment, Setting};
use super::method::Method;
use super::one_flow::Span;
use super::runs::{self, is_chosen, seeds};
use crate::report::{Report, Table};
use crate::tunnel::{Path, Record, Scene};

/// Networks of one kind.
struct Part {
    name: &'static str,
    /// The number of their paths.
    paths: usize,
    span: Span,
    /// True if their paths change while the flow runs.
    changes: bool,
}

/// The span of a flow over paths that change: long enough for some changes.
const LONG: Span = Span { duration: Duration::from_secs(22), from: 3.0, to: 20.0 };

/// All parts.
static PARTS: [Part; 3] = [
    Part { name: "two-paths", paths: 2, span: Span::USUAL, changes: false },
    Part { name: "three-paths", paths: 3, span: Span::USUAL, changes: false },
    Part { name: "changing-paths", paths: 2, span: LONG, changes: true },
];

/// The names of the parts.
pub(in super::super) const NAMES: [&str; 3] = [PARTS[0].name, PARTS[1].name, PARTS[2].name];

/// The least rate that a tunnel may carry, as a share of what its best path carries alone.
const NEARLY_ALL: f64 = 0.9;

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let seeds = seeds(experiment, setting);
    let parts: Vec<&'static Part> =
        PARTS.iter().filter(|part| is_chosen(setting, part.name)).collect();
    let methods = |part: &Part| -> Vec<Method> {
        let all = (0..part.paths).map(Method::Alone).chain([Method::Adaptive]);
        all.filter(|method| method.is_chosen(setting.methods)).collect()
    };
    let of_part =
        |&part: &&'static Part| methods(part).into_iter().map(move |it| ((part, it), seeds));
    let cases: Vec<((&Part, Method), u64)> = parts.iter().flat_map(of_part).collect();
    let scene = |&(part, method): &(&Part, Method), seed| part.network(seed).scene(part, method);
    let measure = |&(part, _): &(&Part, Method), record: &Record| {
        record.goodput(0, part.span.from, part.span.to)
    };
    let runs = runs::run(setting, &cases, scene, measure);

    let mut rest = runs.cases.into_iter();
    let mut drawn = Vec::new();
    for part in parts {
        let methods = methods(part);
        let rates: Vec<Vec<f64>> = rest.by_ref().take(methods.len()).collect();
        for index in 0..seeds {
            let mut rates: Vec<f64> = rates.iter().map(|of| of[index as usize]).collect();
            let tunnel = rates.pop_if(|_| methods.contains(&Method::Adaptive)).unwrap_or(f64::NAN);
            let network = part.network(setting.first_seed + index);
            drawn.push(Drawn { network, alone: rates, tunnel });
        }
    }
    drawn.sort_by(|a, b| a.gain().total_cmp(&b.gain()));
    let mut report = experiment.report(setting);
    report.tables = vec![distribution(&drawn), table(&drawn)];
    report.misses = drawn.iter().filter_map(Drawn::miss).collect();
    report.traces = runs.traces;
    report
}

/// The network of a seed.
struct Network {
    seed: u64,
    links: Vec<Path>,
    changes: Changes,
    /// The course of each link.
    courses: Vec<Course>,
}

impl Part {
    /// Returns its network of a seed.
    fn network(&self, seed: u64) -> Network {
        let links = uplink::draw(seed, self.paths);
        let (changes, courses) = if self.changes {
            course::draw(seed, &links, self.span.duration)
        } else {
            (Changes::new(), vec![Course::Steady; self.paths])
        };
        Network { seed, links, changes, courses }
    }
}

impl Network {
    /// Returns the simulation of a flow over it.
    fn scene(self, part: &Part, method: Method) -> Scene {
        let scene = method.scene(self.links, part.span.duration, self.seed);
        Scene { changes: self.changes, ..scene }
    }

    fn text(&self) -> String {
        let text = |(link, course): (&Path, &Course)| {
            let mut text = uplink::described(link);
            course.describe(&mut text);
            text
        };
        self.links.iter().zip(&self.courses).map(text).collect::<Vec<_>>().join("; ")
    }
}

/// A network, and what a flow carried over it, in Mbit/s.
struct Drawn {
    network: Network,
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

    fn miss(&self) -> Option<String> {
        let Self { network, tunnel, .. } = self;
        let (best, seed, text) = (self.best(), network.seed, network.text());
        (self.gain() < NEARLY_ALL).then(|| {
            format!(
                "seed {seed}, {text}: {tunnel:.1} Mbit/s, the best path alone carries {best:.1}"
            )
        })
    }
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
    let mut table = Table::new(
        "Mbit/s from 3 to 10 s (20 s where paths change), the worst network first",
        heading,
    );
    table.rows = drawn
        .iter()
        .map(|it| {
            let alone: Vec<String> = it.alone.iter().map(|rate| format!("{rate:.1}")).collect();
            vec![
                it.network.seed.to_string(),
                it.network.text(),
                alone.join(", "),
                format!("{:.1}", it.tunnel),
                format!("{:.2}", it.gain()),
            ]
        })
        .collect();
    table
}
