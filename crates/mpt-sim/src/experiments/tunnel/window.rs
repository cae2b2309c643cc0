//! Throughput over the size of the receive window: figure 11 of imareen2025.

use std::time::Duration;

use mpt_core::reorder;

use crate::report::Report;
use crate::tunnel::{Case, Path, Profile};

use super::super::{Experiment, Setting};
use super::grid::{Grid, late_percent, run_all};

/// Receive windows of the paper, in packets.
const WINDOWS: [u16; 10] = [25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000];
/// Delay of the second path, one way, in ms; the paper's, and none.
const DELAYS: [u64; 6] = [0, 10, 20, 30, 40, 50];
/// Duration of a run: the transient of imareen2025's tables 2 and 3 is over by then.
const DURATION: Duration = Duration::from_secs(20);

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let mut report = experiment.report(setting);
    let rows = DELAYS.map(|delay| format!("{delay} ms"));
    let columns = WINDOWS.map(|window| window.to_string());
    for profile in [Profile::Paper, Profile::Ours] {
        let cases: Vec<Case> = DELAYS
            .into_iter()
            .flat_map(|delay| WINDOWS.map(|window| case(profile, delay, window)))
            .collect();
        let outcomes = run_all(experiment, setting, &cases);
        let grid = Grid { rows: &rows, columns: &columns, outcomes: &outcomes };
        let name = profile.name();
        let title = |what: &str| format!("{name}, 100 + 50 Mbit/s, window in packets: {what}");
        let settled = title("Mbit/s from 3 s on");
        report.tables.push(grid.table(&settled, 1, |it| it.settled));
        report.tables.push(grid.table(&title("late packets, %"), 2, late_percent));
        report
            .tables
            .push(grid.table(&title("wait in the window, p50, ms"), 1, |it| it.wait_p50_ms));
        report
            .tables
            .push(grid.table(&title("wait in the window, p99, ms"), 1, |it| it.wait_p99_ms));
        let waiting = title("packets that wait, p99");
        report.tables.push(grid.table(&waiting, 0, |it| it.occupancy.p99 as f64));
        let again = title("retransmissions");
        report.tables.push(grid.table(&again, 0, |it| it.retransmissions as f64));
        let figure = format!("{}-{name}", experiment.name);
        report.figures.push(grid.figure(figure, &settled, "packets", "Mbit/s", |it| it.settled));
        if let Some(full) = outcomes.first().and_then(|cell| cell.first()) {
            report
                .findings
                .push(format!("{name}: the paths could carry {:.1} Mbit/s.", full.capacity));
        }
    }
    report
}

fn case(profile: Profile, delay: u64, window: u16) -> Case {
    let paths = vec![Path::new(100, Duration::ZERO), Path::new(50, Duration::from_millis(delay))];
    let case = Case { duration: DURATION, ..Case::new(profile, paths, 0) };
    Case { reorder: reorder::Config { window: Some(window), ..case.reorder }, ..case }
}
