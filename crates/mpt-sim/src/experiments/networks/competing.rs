//! Other traffic on the same link: a flow beside the tunnel, and a second tunnel.

use std::time::Duration;

use mpt_report::statistics::percentile;

use crate::report::{Report, Table};
use crate::tunnel::{EchoKind, EchoPlan, FlowPlan, Path, Record, Scene, TunnelPlan, Via, WARM_UP};

use super::super::{Experiment, Setting};
use super::method::Method;
use super::runs::{self, is_chosen, mean, seeds};

/// Rate of every link, in Mbit/s.
const RATE: u16 = 50;
const DELAY: Duration = Duration::from_millis(20);
/// Time at which the rival begins.
const RIVAL: Duration = Duration::from_secs(5);
const DURATION: Duration = Duration::from_secs(21);
/// Beginning of the interval over which goodput is measured, in seconds.
const FROM: f64 = 10.0;
/// End of the interval over which goodput is measured, in seconds.
const TO: f64 = 20.0;
const PING_INTERVAL: Duration = Duration::from_millis(50);

/// The parts.
pub(in super::super) const NAMES: [&str; 4] =
    ["one-of-two", "only-link", "fair-link", "two-tunnels"];

/// The result of a run: goodput of both flows in Mbit/s, and round-trip times of ping through the
/// first tunnel in ms.
struct Measured {
    ours: f64,
    other: f64,
    /// Goodput of the first flow before the other begins, in Mbit/s.
    before: f64,
    unloaded: f64,
    p50: f64,
    p95: f64,
}

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let methods = Method::chosen_tunnels(setting.methods);
    let parts: Vec<&str> = NAMES.into_iter().filter(|name| is_chosen(setting, name)).collect();
    let seeds = seeds(experiment, setting);
    let of_part = |&part: &&'static str| methods.iter().map(move |&method| ((part, method), seeds));
    let cases: Vec<((&str, Method), u64)> = parts.iter().flat_map(of_part).collect();
    let scene = |&(part, method): &(&str, Method), seed| scene(part, method, seed);
    let runs = runs::run(setting, &cases, scene, |_, record| Measured::of(record));
    let mut report = experiment.report(setting);
    let title = "50 Mbit/s, 20 ms; the other begins after 5 s: Mbit/s from 10 to 20 s, mean of the seeds [ours: least-most]";
    let heading = ["", "", "ours before", "ours", "the other", "ping p50 / p95 in ms (unloaded)"];
    let mut table = Table::new(title, heading);
    for (((part, method), _), cell) in cases.iter().zip(&runs.cases) {
        let rates = || cell.iter().map(|it| it.ours);
        let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        table.rows.push(vec![
            (*part).to_owned(),
            method.name().to_owned(),
            format!("{:.1}", mean(cell, |it| it.before)),
            format!("{:.1} [{least:.1}-{most:.1}]", mean(cell, |it| it.ours)),
            format!("{:.1}", mean(cell, |it| it.other)),
            format!(
                "{:.0} / {:.0} ({:.0})",
                mean(cell, |it| it.p50),
                mean(cell, |it| it.p95),
                mean(cell, |it| it.unloaded)
            ),
        ]);
    }
    report.tables.push(table);
    report.traces = runs.traces;
    report
}

fn scene(part: &str, method: Method, seed: u64) -> Scene {
    let count = if part == "one-of-two" { 2 } else { 1 };
    let path = Path { fair: part == "fair-link", ..Path::new(RATE, DELAY) };
    let links = vec![path; count];
    let first: Vec<TunnelPlan> = method.tunnel(&links).into_iter().collect();
    let (tunnels, other) = if part == "two-tunnels" {
        ([first.clone(), first].concat(), Via::Tunnel(1))
    } else {
        (first, Via::Link(0))
    };
    let via = Via::Tunnel(0);
    let rival = FlowPlan { start: RIVAL, ..FlowPlan::linux(other) };
    Scene {
        links,
        tunnels,
        flows: vec![FlowPlan::linux(via), rival],
        echoes: vec![EchoPlan { via, kind: EchoKind::Icmp, interval: PING_INTERVAL }],
        streams: Vec::new(),
        changes: Vec::new(),
        warm_up: WARM_UP,
        duration: DURATION,
        seed,
    }
}

impl Measured {
    fn of(record: &Record) -> Self {
        let loaded = record.trips(0, FROM, TO);
        Self {
            ours: record.goodput(0, FROM, TO),
            other: record.goodput(1, FROM, TO),
            before: record.goodput(0, 3.0, RIVAL.as_secs_f64()),
            unloaded: percentile(&record.trips(0, f64::MIN, 0.0), 50.0),
            p50: percentile(&loaded, 50.0),
            p95: percentile(&loaded, 95.0),
        }
    }
}
