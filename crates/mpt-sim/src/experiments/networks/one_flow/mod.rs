//! One flow by every method: how it is run, what is measured, and its tables.

pub(super) mod musts;

use std::time::Duration;

use mpt_core::RepairCounters;
use mpt_report::statistics::percentile;

use crate::report::{Report, Table};
use crate::study::median;
use crate::tunnel::Record;

use self::musts::Must;
use super::list::Network;
use super::method::Method;
use super::runs::{self, mean};
use crate::experiments::{Experiment, Setting};

/// The duration of a flow, and the interval over which its goodput is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    /// Duration of the flow.
    pub(super) duration: Duration,
    /// Beginning of the measured interval, in seconds.
    pub(super) from: f64,
    /// End of the measured interval, in seconds.
    pub(super) to: f64,
}

impl Span {
    /// The span of the measurements on real machines: the mean from 3 to 10 s of a flow of 12 s.
    pub(super) const USUAL: Self = Self { duration: Duration::from_secs(12), from: 3.0, to: 10.0 };
}

/// A network over which one flow is run by every method.
pub(super) struct Task {
    pub(super) network: &'static Network,
    /// The demand on a tunnel that measures.
    pub(super) must: Option<Must>,
    pub(super) span: Span,
    pub(super) seeds: u64,
}

/// Runs one flow over each of the networks by every method that is chosen.
pub(super) fn run(experiment: &Experiment, setting: &Setting<'_>, tasks: &[Task]) -> Report {
    let methods = Method::chosen(setting.methods);
    let of_task = |task| methods.iter().map(move |&method| (task, method));
    let pairs = tasks.iter().flat_map(of_task);
    let cases: Vec<((&Task, Method), u64)> = pairs.map(|pair| (pair, pair.0.seeds)).collect();
    let scene = |&(task, method): &(&Task, Method), seed| {
        method.scene(task.network.links(), task.span.duration, seed)
    };
    let measure = |&(task, _): &(&Task, Method), record: &Record| Measured::of(record, task.span);
    let runs = runs::run(setting, &cases, scene, measure);

    let mut report = experiment.report(setting);
    let mut rest = runs.cases.into_iter();
    let row = |task: &Task| Row {
        name: task.network.name,
        limit: task.network.limit(),
        must: task.must,
        cells: methods.iter().copied().zip(rest.by_ref().take(methods.len())).collect(),
    };
    let rows: Vec<Row> = tasks.iter().map(row).collect();
    report.tables = tables(&methods, &rows);
    let unusual = tasks.iter().filter(|task| task.span != Span::USUAL);
    report.findings.extend(unusual.map(|task| {
        let (name, Span { duration, from, to }) = (task.network.name, task.span);
        format!(
            "The flow over {name} lasts {} s and counts from {from} to {to} s.",
            duration.as_secs()
        )
    }));
    report.misses = rows.iter().filter_map(Row::miss).collect();
    report.traces = runs.traces;
    report
}

/// The result of a run.
pub(super) struct Measured {
    /// Goodput in Mbit/s.
    goodput: f64,
    /// Round-trip times of ping in ms: median without load, then median and 95 % beside the flow.
    unloaded: f64,
    p50: f64,
    p95: f64,
    retransmissions: u64,
    lost: u64,
    repairs: RepairCounters,
}

impl Measured {
    pub(super) fn of(record: &Record, Span { from, to, .. }: Span) -> Self {
        let unloaded = record.trips(0, f64::MIN, 0.0);
        let loaded = record.trips(0, from, to);
        Self {
            goodput: record.goodput(0, from, to),
            unloaded: percentile(&unloaded, 50.0),
            p50: percentile(&loaded, 50.0),
            p95: percentile(&loaded, 95.0),
            retransmissions: record.flows.iter().map(|flow| flow.retransmitted).sum(),
            lost: record.lost_in_links(),
            repairs: record.repairs,
        }
    }
}

/// The runs over a network, by method and seed.
pub(super) struct Row {
    /// Name of the network.
    pub(super) name: &'static str,
    /// Upper limit of goodput over the network, in Mbit/s.
    pub(super) limit: f64,
    /// Demand on a tunnel that measures its paths, if there is one.
    pub(super) must: Option<Must>,
    pub(super) cells: Vec<(Method, Vec<Measured>)>,
}

impl Row {
    fn mean(&self, method: Method) -> Option<f64> {
        let (_, cell) = self.cells.iter().find(|(it, _)| *it == method)?;
        Some(mean(cell, |it| it.goodput))
    }

    /// Returns the demanded rate.
    fn must(&self) -> Option<f64> {
        let alone = [0, 1].map(|path| self.mean(Method::Alone(path)));
        let better = alone[0].zip(alone[1]).map(|(a, b)| a.max(b));
        self.must?.rate(better)
    }

    /// Returns the demand that is not met, in a sentence.
    pub(super) fn miss(&self) -> Option<String> {
        let (must, reached) = (self.must()?, self.mean(Method::Adaptive)?);
        (reached < must)
            .then(|| format!("{}: {reached:.1} Mbit/s, at least {must:.1} are due", self.name))
    }
}

/// Returns the tables of goodput, ping, losses and the spread over the seeds.
pub(super) fn tables(methods: &[Method], rows: &[Row]) -> Vec<Table> {
    let names = || methods.iter().map(|method| method.name());
    let title = "Mbit/s from 3 to 10 s unless said otherwise, mean of the seeds (percent of the sum of the rates less headers); what adaptive must carry";
    let heading = ["", "limit"].into_iter().chain(names()).chain(["must"]);
    let mut goodput = Table::new(title, heading);
    for row in rows {
        let limit = row.limit;
        let cells = row.cells.iter().map(|(_, cell)| {
            let rate = mean(cell, |it| it.goodput);
            format!("{rate:.1} ({:.0})", 100.0 * rate / limit)
        });
        let must = row.must().map_or_else(String::new, |must| format!("{must:.1}"));
        let start = [row.name.to_owned(), format!("{limit:.1}")];
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
    let repairs = "Packets that the tunnel held for lost / sent again / that came then / were only late / were refused, mean of the seeds";
    let repairs = table(repairs, methods, rows, |cell| {
        let of = |of: fn(&RepairCounters) -> u64| mean(cell, |it| of(&it.repairs) as f64);
        let (lost, sent) = (of(|it| it.lost), of(|it| it.sent));
        let (repaired, late, refused) =
            (of(|it| it.repaired), of(|it| it.late), of(|it| it.refused));
        format!("{lost:.0} / {sent:.0} / {repaired:.0} / {late:.0} / {refused:.0}")
    });
    let spread = table("Mbit/s: median of the seeds [least-most]", methods, rows, |cell| {
        let rates = || cell.iter().map(|it| it.goodput);
        let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        format!("{:.1} [{least:.1}-{most:.1}]", median(rates()))
    });
    vec![goodput, ping, again, repairs, spread]
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
        table.rows.push([row.name.to_owned()].into_iter().chain(cells).collect());
    }
    table
}
