//! Delay with jitter on both paths, and jitter without delay: figure 12 of imareen2025, and half of a figure of
//! szilagyi2021, which delays packets at random, too.

use std::time::Duration;

use crate::report::{Report, Table};
use crate::tunnel::{Case, Path, Profile};

use super::super::{Experiment, Setting};
use super::grid::{Grid, late_percent, run_all};

/// The paper's steps: delay and its standard deviation, in ms.
const STEPS: [(u64, u64); 5] = [(10, 2), (20, 4), (30, 6), (40, 8), (50, 10)];

/// A network of a column.
type Network = fn((u64, u64)) -> [(u64, u64); 2];

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let mut report = experiment.report(setting);
    let networks: [(&str, Network); 4] = [
        ("delay and jitter on both paths", |it| [it, it]),
        ("jitter on both paths, no delay", |(_, jitter)| [(0, jitter); 2]),
        ("delay and jitter on one path", |it| [(0, 0), it]),
        ("delay on both paths", |(delay, _)| [(delay, 0); 2]),
    ];
    let rows = networks.map(|(name, _)| name.to_owned());
    let columns = STEPS.map(|(delay, jitter)| format!("{delay}/{jitter} ms"));
    for profile in [Profile::Paper, Profile::Ours] {
        let cases: Vec<Case> = networks
            .iter()
            .flat_map(|(_, network)| STEPS.map(|step| case(profile, network(step))))
            .collect();
        let outcomes = run_all(experiment, setting, &cases);
        let grid = Grid { rows: &rows, columns: &columns, outcomes: &outcomes };
        let name = profile.name();
        let title = |what: &str| format!("{name}, 100 + 100 Mbit/s, delay/deviation: {what}");
        let settled = title("Mbit/s from 3 s on");
        let tables: [Table; 5] = [
            grid.table(&settled, 1, |it| it.settled),
            grid.table(&title("wait in the window, p50, ms"), 1, |it| it.wait_p50_ms),
            grid.table(&title("wait in the window, p99, ms"), 1, |it| it.wait_p99_ms),
            grid.table(&title("late packets, %"), 2, late_percent),
            grid.table(&title("retransmissions"), 0, |it| it.retransmissions as f64),
        ];
        report.tables.extend(tables);
        let figure = format!("{}-{name}", experiment.name);
        report
            .figures
            .push(grid.figure(figure, &settled, "delay/deviation", "Mbit/s", |it| it.settled));
    }
    report
}

fn case(profile: Profile, paths: [(u64, u64); 2]) -> Case {
    let path = |(delay, jitter)| Path {
        jitter: Duration::from_millis(jitter),
        ..Path::new(100, Duration::from_millis(delay))
    };
    Case::new(profile, paths.map(path).to_vec(), 0)
}
