//! One flow over each network, by every method.

use std::time::Duration;

use crate::report::{Report, Table};
use crate::study::{in_parallel, median};

use super::super::{Experiment, Setting};
use super::list::{self, Network};
use super::method::Method;
use super::musts::Must;

/// As measured on real machines: a flow of 12 s, its mean from 3 to 10 s.
const DURATION: Duration = Duration::from_secs(12);
const FROM: f64 = 3.0;
const TO: f64 = 10.0;
/// Seeds where a few random losses decide what a run gives.
const SEEDS_OF_LOSSES: u64 = 20;

/// One run.
struct Run {
    network: &'static Network,
    method: Method,
    seed: u64,
}

/// What a run gave.
struct Measured {
    /// In Mbit/s.
    goodput: f64,
    /// Round-trip times of ping in ms: median without load, then median and 95 % beside the flow.
    unloaded: f64,
    p50: f64,
    p95: f64,
    retransmissions: u64,
    lost: u64,
    trace: Option<String>,
}

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let methods = Method::chosen(setting.methods);
    let chosen = |network: &&Network| {
        setting.only.is_empty() || setting.only.iter().any(|name| name == network.name)
    };
    let networks: Vec<&'static Network> = list::ALL.iter().filter(chosen).collect();
    let runs: Vec<Run> = networks
        .iter()
        .flat_map(|&network| {
            let methods = methods.iter();
            methods.flat_map(move |&method| {
                let seeds =
                    setting.first_seed..setting.first_seed + seeds(experiment, setting, network);
                seeds.map(move |seed| Run { network, method, seed })
            })
        })
        .collect();
    (setting.expect)(runs.len() as u64);
    let measured = in_parallel(&runs, |run| run.measure(setting.trace), setting.progress);

    let mut report = experiment.report(setting);
    let mut rest = measured.into_iter();
    let rows: Vec<Row> = networks
        .iter()
        .map(|&network| {
            let seeds = seeds(experiment, setting, network) as usize;
            let cells = methods.iter().map(|&method| (method, rest.by_ref().take(seeds).collect()));
            Row { network, cells: cells.collect() }
        })
        .collect();
    report.tables = tables(&methods, &rows);
    report.misses = rows.iter().filter_map(Row::miss).collect();
    let all = rows.into_iter().flat_map(|row| row.cells).flat_map(|(_, cell)| cell);
    report.traces = all.filter_map(|it| it.trace).collect();
    report
}

fn seeds(experiment: &Experiment, setting: &Setting<'_>, network: &Network) -> u64 {
    let own = match Must::of(network.name) {
        Some(Must::OfTheBetterPath(_)) => SEEDS_OF_LOSSES,
        _ => experiment.seeds,
    };
    setting.seeds.unwrap_or(own)
}

impl Run {
    fn measure(&self, trace: bool) -> Measured {
        let record = self.method.scene(self.network.links(), DURATION, self.seed).run();
        let unloaded = record.trips(0, f64::MIN, 0.0);
        let loaded = record.trips(0, FROM, TO);
        Measured {
            goodput: record.goodput(0, FROM, TO),
            unloaded: quantile(&unloaded, 0.5),
            p50: quantile(&loaded, 0.5),
            p95: quantile(&loaded, 0.95),
            retransmissions: record.flows.iter().map(|flow| flow.retransmitted).sum(),
            lost: record.lost_in_links(),
            trace: trace.then(|| record.csv()),
        }
    }
}

/// The runs of a network, by method and seed.
struct Row {
    network: &'static Network,
    cells: Vec<(Method, Vec<Measured>)>,
}

impl Row {
    fn mean(&self, method: Method) -> Option<f64> {
        let (_, cell) = self.cells.iter().find(|(it, _)| *it == method)?;
        Some(mean(cell, |it| it.goodput))
    }

    /// The rate that is demanded.
    fn must(&self) -> Option<f64> {
        let alone = [0, 1].map(|path| self.mean(Method::Alone(path)));
        let better = alone[0].zip(alone[1]).map(|(a, b)| a.max(b));
        Must::of(self.network.name)?.rate(better)
    }

    fn miss(&self) -> Option<String> {
        let (must, reached) = (self.must()?, self.mean(Method::Adaptive)?);
        (reached < must).then(|| {
            format!("{}: {reached:.1} Mbit/s, at least {must:.1} are due", self.network.name)
        })
    }
}

fn tables(methods: &[Method], rows: &[Row]) -> Vec<Table> {
    let names = || methods.iter().map(|method| method.name());
    let title = "Mbit/s from 3 to 10 s, mean of the seeds (percent of the sum of the rates less headers); what adaptive must carry";
    let heading = ["", "limit"].into_iter().chain(names()).chain(["must"]);
    let mut goodput = Table::new(title, heading);
    for row in rows {
        let limit = row.network.limit();
        let cells = row.cells.iter().map(|(_, cell)| {
            let rate = mean(cell, |it| it.goodput);
            format!("{rate:.1} ({:.0})", 100.0 * rate / limit)
        });
        let must = row.must().map_or_else(String::new, |must| format!("{must:.1}"));
        let start = [row.network.name.to_owned(), format!("{limit:.1}")];
        goodput.rows.push(start.into_iter().chain(cells).chain([must]).collect());
    }
    let ping =
        "Ping beside it: p50 / p95 in ms above the median without load (which is in brackets)";
    let ping = table(ping, methods, rows, |cell| {
        let unloaded = mean(cell, |it| it.unloaded);
        let above = |of: fn(&Measured) -> f64| mean(cell, of) - unloaded;
        format!("{:+.0} / {:+.0} ({unloaded:.0})", above(|it| it.p50), above(|it| it.p95))
    });
    let again = "Segments sent again / packets lost in links and their queues, mean of the seeds";
    let again = table(again, methods, rows, |cell| {
        let (again, lost) =
            (mean(cell, |it| it.retransmissions as f64), mean(cell, |it| it.lost as f64));
        format!("{again:.0} / {lost:.0}")
    });
    let spread = table("Mbit/s: median of the seeds [least-most]", methods, rows, |cell| {
        let rates = || cell.iter().map(|it| it.goodput);
        let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        format!("{:.1} [{least:.1}-{most:.1}]", median(rates()))
    });
    vec![goodput, ping, again, spread]
}

fn table(
    title: &str,
    methods: &[Method],
    rows: &[Row],
    text: impl Fn(&[Measured]) -> String,
) -> Table {
    let heading = [""].into_iter().chain(methods.iter().map(|method| method.name()));
    let mut table = Table::new(title, heading);
    for row in rows {
        let cells = row.cells.iter().map(|(_, cell)| text(cell));
        table.rows.push([row.network.name.to_owned()].into_iter().chain(cells).collect());
    }
    table
}

fn mean(cell: &[Measured], of: impl Fn(&Measured) -> f64) -> f64 {
    cell.iter().map(of).sum::<f64>() / cell.len() as f64
}

/// The value that a share of the sorted ones does not exceed. NaN without values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = libm::ceil(sorted.len() as f64 * share) as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
