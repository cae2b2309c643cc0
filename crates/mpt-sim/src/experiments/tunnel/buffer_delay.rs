//! Throughput and waiting over the maximum buffer delay: what almasi2017 leaves to a simulation.

use std::time::Duration;

use mpt_core::reorder;
use mpt_link::{Loss, Probability};

use crate::report::Report;
use crate::tunnel::{Case, Path, Profile};

use super::super::{Experiment, Setting};
use super::grid::{Grid, late_percent, run_all};

/// Maximum buffer delays, in ms.
const MAX_DELAYS: [u64; 9] = [1, 5, 10, 20, 50, 100, 200, 300, 500];
/// Delay of the second path, one way, in ms.
const DELAYS: [u64; 4] = [0, 10, 20, 50];
const LOSSES: [f64; 2] = [0.0, 0.001];

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let mut report = experiment.report(setting);
    let rows: Vec<String> = LOSSES
        .into_iter()
        .flat_map(|loss| DELAYS.map(|delay| format!("{delay} ms, loss {} %", 100.0 * loss)))
        .collect();
    let columns = MAX_DELAYS.map(|delay| format!("{delay} ms"));
    for profile in [Profile::Paper, Profile::Ours] {
        let cases: Vec<Case> = LOSSES
            .into_iter()
            .flat_map(|loss| DELAYS.map(|delay| (loss, delay)))
            .flat_map(|(loss, delay)| MAX_DELAYS.map(|max| case(profile, loss, delay, max)))
            .collect();
        let outcomes = run_all(experiment, setting, &cases);
        let grid = Grid { rows: &rows, columns: &columns, outcomes: &outcomes };
        let name = profile.name();
        let title = |what: &str| format!("{name}, 100 + 100 Mbit/s, maximum delay: {what}");
        let settled = title("Mbit/s from 3 s on");
        report.tables.push(grid.table(&settled, 1, |it| it.settled));
        report
            .tables
            .push(grid.table(&title("wait in the window, p99, ms"), 1, |it| it.wait_p99_ms));
        report.tables.push(grid.table(&title("late packets, %"), 2, late_percent));
        let figure = format!("{}-{name}", experiment.name);
        report
            .figures
            .push(grid.figure(figure, &settled, "maximum delay", "Mbit/s", |it| it.settled));
    }
    report
}

fn case(profile: Profile, loss: f64, delay: u64, max_delay: u64) -> Case {
    let loss = Probability::new(loss).map_or(Loss::None, Loss::from);
    let path = |delay| Path { loss, ..Path::new(100, Duration::from_millis(delay)) };
    let case = Case::new(profile, vec![path(0), path(delay)], 0);
    let max_delay = Some(Duration::from_millis(max_delay));
    Case { reorder: reorder::Config { max_delay, ..case.reorder }, ..case }
}
