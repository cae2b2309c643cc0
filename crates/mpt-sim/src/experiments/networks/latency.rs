//! The round-trip times of a remote shell: a sparse TCP flow, idle and beside bulk data.

use std::time::Duration;

use mpt_report::statistics::percentile;

use crate::report::{Report, Table};
use crate::tunnel::{EchoKind, EchoPlan, Record, Scene};

use super::super::{Experiment, Setting};
use super::list::{self, Network};
use super::method::Method;
use super::runs::{self, is_chosen, mean, seeds};

/// The networks on which it is measured.
pub(in super::super) const NAMES: [&str; 4] = ["baseline", "rtt_120", "fiber_lte", "lte_starlink"];

/// Time between two keys: ten keys a second.
const INTERVAL: Duration = Duration::from_millis(100);
const DURATION: Duration = Duration::from_secs(12);
/// Interval over which echoes count, from and to, in seconds.
const FROM: f64 = 3.0;
const TO: f64 = 10.0;

/// A network, a method, and whether there is a flow beside it.
type Case = (&'static Network, Method, bool);

/// Round-trip times in ms, and the share of the packets that did not come back, in percent.
struct Measured {
    p50: f64,
    p95: f64,
    lost: f64,
}

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let methods = Method::chosen(setting.methods);
    let networks = list::ALL.iter().filter(|network| NAMES.contains(&network.name));
    let networks = networks.filter(|network| is_chosen(setting, network.name));
    let seeds = seeds(experiment, setting);
    let of_network = |network: &'static Network| {
        let both = |&method: &Method| [false, true].map(|bulk| ((network, method, bulk), seeds));
        methods.iter().flat_map(both).collect::<Vec<_>>()
    };
    let cases: Vec<(Case, u64)> = networks.flat_map(of_network).collect();
    let runs = runs::run(setting, &cases, scene, |_, record| Measured::of(record));
    let mut report = experiment.report(setting);
    let title = "Ten keys a second to a remote shell: round-trip time p50 / p95 in ms, and those that were lost";
    let mut table = Table::new(title, ["", "", "idle", "beside bulk"]);
    for (pair, cells) in cases.chunks(2).zip(runs.cases.chunks(2)) {
        let ((network, method, _), _) = pair[0];
        let cell = |cell: &[Measured]| {
            format!(
                "{:.0} / {:.0}, {:.1} %",
                mean(cell, |it| it.p50),
                mean(cell, |it| it.p95),
                mean(cell, |it| it.lost)
            )
        };
        let start = [network.name.to_owned(), method.name().to_owned()];
        table.rows.push(start.into_iter().chain(cells.iter().map(|it| cell(it))).collect());
    }
    report.tables.push(table);
    report.traces = runs.traces;
    report
}

fn scene(&(network, method, bulk): &Case, seed: u64) -> Scene {
    let mut scene = method.scene(network.links(), DURATION, seed);
    let shell = |plan: &EchoPlan| EchoPlan { kind: EchoKind::Tcp, interval: INTERVAL, ..*plan };
    scene.echoes = scene.echoes.iter().map(shell).collect();
    if !bulk {
        scene.flows.clear();
    }
    scene
}

impl Measured {
    fn of(record: &Record) -> Self {
        let times = record.trips(0, FROM, TO);
        let sent = record.echoes.iter().flatten().filter(|trip| (FROM..TO).contains(&trip.at));
        let sent = sent.count() as f64;
        Self {
            p50: percentile(&times, 50.0),
            p95: percentile(&times, 95.0),
            lost: 100.0 * (sent - times.len() as f64) / sent,
        }
    }
}
