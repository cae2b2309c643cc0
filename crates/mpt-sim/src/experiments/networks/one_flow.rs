//! One flow by every method: what is measured, and its tables.

use std::time::Duration;

use crate::report::Table;
use crate::study::median;
use crate::tunnel::Record;

use super::method::Method;
use super::musts::Must;
use super::runs::{mean, quantile};

/// As measured on real machines: a flow of 12 s, its mean from 3 to 10 s.
pub(super) const DURATION: Duration = Duration::from_secs(12);
const FROM: f64 = 3.0;
const TO: f64 = 10.0;

/// What a run gave.
pub(super) struct Measured {
    /// In Mbit/s.
    goodput: f64,
    /// Round-trip times of ping in ms: median without load, then median and 95 % beside the flow.
    unloaded: f64,
    p50: f64,
    p95: f64,
    retransmissions: u64,
    lost: u64,
}

impl Measured {
    pub(super) fn of(record: &Record) -> Self {
        let unloaded = record.trips(0, f64::MIN, 0.0);
        let loaded = record.trips(0, FROM, TO);
        Self {
            goodput: record.goodput(0, FROM, TO),
            unloaded: quantile(&unloaded, 0.5),
            p50: quantile(&loaded, 0.5),
            p95: quantile(&loaded, 0.95),
            retransmissions: record.flows.iter().map(|flow| flow.retransmitted).sum(),
            lost: record.lost_in_links(),
        }
    }
}

/// The runs over a network, by method and seed.
pub(super) struct Row {
    /// Of the network.
    pub(super) name: &'static str,
    /// What it could carry, in Mbit/s.
    pub(super) limit: f64,
    /// What is demanded of a tunnel that measures.
    pub(super) must: Option<Must>,
    pub(super) cells: Vec<(Method, Vec<Measured>)>,
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
        self.must?.rate(better)
    }

    /// The demand that is not met, in a sentence.
    pub(super) fn miss(&self) -> Option<String> {
        let (must, reached) = (self.must()?, self.mean(Method::Adaptive)?);
        (reached < must)
            .then(|| format!("{}: {reached:.1} Mbit/s, at least {must:.1} are due", self.name))
    }
}

/// Goodput, ping, losses and what the seeds make.
pub(super) fn tables(methods: &[Method], rows: &[Row]) -> Vec<Table> {
    let names = || methods.iter().map(|method| method.name());
    let title = "Mbit/s from 3 to 10 s, mean of the seeds (percent of the sum of the rates less headers); what adaptive must carry";
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
        table.rows.push([row.name.to_owned()].into_iter().chain(cells).collect());
    }
    table
}
