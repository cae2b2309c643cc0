//! Cells that the laboratory measures as well (`mpt-lab run tunnel-cells`), chosen before either was run.

use std::time::Duration;

use mpt_core::reorder;
use mpt_link::{Loss, Probability};

use crate::report::{Report, Table};
use crate::study::Spread;
use crate::tunnel::{Case, Path, Profile};

use super::super::{Experiment, Setting};
use super::grid::run_all;

/// Rates in Mbit/s, delay of the second path one way in ms, loss in both directions of both paths, window in packets;
/// `None` for the profile's own.
const CELLS: [([u16; 2], u64, f64, Option<u16>); 14] = [
    ([100, 100], 0, 0.0, None),
    ([100, 100], 10, 0.0, None),
    ([100, 100], 50, 0.0, None),
    ([100, 50], 10, 0.0, None),
    ([100, 50], 50, 0.0, None),
    ([100, 10], 0, 0.0, None),
    ([100, 10], 20, 0.0, None),
    ([50, 50], 10, 0.0, Some(50)),
    ([50, 50], 50, 0.0, Some(100)),
    ([100, 50], 20, 0.0, Some(100)),
    ([100, 50], 50, 0.0, Some(400)),
    ([50, 50], 0, 0.001, None),
    ([50, 50], 10, 0.001, None),
    ([100, 10], 10, 0.001, None),
];
/// Duration of a flow, as in the laboratory.
const DURATION: Duration = Duration::from_secs(10);

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let mut report = experiment.report(setting);
    let heading = ["", "paper's settings", "ours", "capacity"];
    let mut table = Table::new("Mbit/s from 3 to 10 s, median [range]", heading);
    let cases: Vec<Case> = CELLS
        .iter()
        .flat_map(|cell| [Profile::Paper, Profile::Ours].map(|profile| case(profile, cell)))
        .collect();
    let outcomes = run_all(experiment, setting, &cases);
    for (cell, outcomes) in CELLS.iter().zip(outcomes.chunks(2)) {
        let cells = outcomes.iter().map(|outcomes| {
            let Spread { least, median, most } = Spread::of(outcomes.iter().map(|it| it.settled));
            format!("{median:.1} [{least:.1}-{most:.1}]")
        });
        let capacity = outcomes[0].first().map_or(0.0, |outcome| outcome.capacity);
        let row = [label(cell)].into_iter().chain(cells).chain([format!("{capacity:.1}")]);
        table.rows.push(row.collect());
    }
    report.tables.push(table);
    report
}

fn label(&([first, second], delay, loss, window): &([u16; 2], u64, f64, Option<u16>)) -> String {
    let window = window.map_or_else(|| "default window".to_owned(), |it| format!("window {it}"));
    format!("{first}+{second}, {delay} ms, {} %, {window}", 100.0 * loss)
}

fn case(
    profile: Profile,
    &([first, second], delay, loss, window): &([u16; 2], u64, f64, Option<u16>),
) -> Case {
    let loss = Probability::new(loss).map_or(Loss::None, Loss::from);
    let path = |rate, delay| Path { loss, ..Path::new(rate, Duration::from_millis(delay)) };
    let case = Case::new(profile, vec![path(first, 0), path(second, delay)], 0);
    let window = window.or(case.reorder.window);
    Case { reorder: reorder::Config { window, ..case.reorder }, duration: DURATION, ..case }
}
