//! One flow over each of thirteen networks, by every method.

use crate::report::Report;

use super::super::{Experiment, Setting};
use super::list::{self, Network};
use super::method::Method;
use super::musts::Must;
use super::one_flow::{DURATION, Measured, Row, tables};
use super::runs::{self, is_chosen};

/// Seeds where a few random losses decide what a run gives.
const SEEDS_OF_LOSSES: u64 = 20;

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let methods = Method::chosen(setting.methods);
    let networks = list::ALL.iter().filter(|network| is_chosen(setting, network.name));
    let networks: Vec<&'static Network> = networks.collect();
    let of_network = |&network: &&'static Network| {
        let seeds = seeds(experiment, setting, network);
        methods.iter().map(move |&method| ((network, method), seeds))
    };
    let cases: Vec<((&Network, Method), u64)> = networks.iter().flat_map(of_network).collect();
    let scene = |&(network, method): &(&Network, Method), seed| {
        method.scene(network.links(), DURATION, seed)
    };
    let runs = runs::run(setting, &cases, scene, Measured::of);

    let mut report = experiment.report(setting);
    let mut rest = runs.cases.into_iter();
    let row = |&network: &&'static Network| Row {
        name: network.name,
        limit: network.limit(),
        must: Must::of(network.name),
        cells: methods.iter().copied().zip(rest.by_ref().take(methods.len())).collect(),
    };
    let rows: Vec<Row> = networks.iter().map(row).collect();
    report.tables = tables(&methods, &rows);
    report.misses = rows.iter().filter_map(Row::miss).collect();
    report.traces = runs.traces;
    report
}

fn seeds(experiment: &Experiment, setting: &Setting<'_>, network: &Network) -> u64 {
    let own = match Must::of(network.name) {
        Some(Must::OfTheBetterPath(_)) => SEEDS_OF_LOSSES,
        _ => experiment.seeds,
    };
    setting.seeds.unwrap_or(own)
}
