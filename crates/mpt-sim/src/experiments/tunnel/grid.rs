//! Cases run with every seed, and their outcomes as tables and figures.

use crate::report::{Figure, Series, Style, Table};
use crate::study::{in_parallel, median};
use crate::tunnel::{Case, Outcome};

use super::super::{Experiment, Setting};

/// Runs every case with each seed. Returns the outcomes of each case.
pub(super) fn run_all(
    experiment: &Experiment,
    setting: &Setting<'_>,
    cases: &[Case],
) -> Vec<Vec<Outcome>> {
    let seeds = experiment.seeds(setting);
    let runs: Vec<Case> = cases
        .iter()
        .flat_map(|case| (0..seeds).map(|seed| Case { seed, ..case.clone() }))
        .collect();
    (setting.expect)(runs.len() as u64);
    let outcomes = in_parallel(&runs, Case::run, setting.progress);
    outcomes.chunks(seeds as usize).map(<[Outcome]>::to_vec).collect()
}

/// A quantity of every case: rows of columns, medians over the seeds.
pub(super) struct Grid<'a> {
    /// Names of the rows.
    pub(super) rows: &'a [String],
    pub(super) columns: &'a [String],
    /// Outcomes by case, row by row.
    pub(super) outcomes: &'a [Vec<Outcome>],
}

impl Grid<'_> {
    /// Returns the medians by row and column.
    pub(super) fn medians(&self, of: impl Fn(&Outcome) -> f64) -> Vec<Vec<f64>> {
        let rows = self.outcomes.chunks(self.columns.len());
        rows.map(|row| row.iter().map(|cell| median(cell.iter().map(&of))).collect()).collect()
    }

    pub(super) fn table(
        &self,
        title: &str,
        decimals: usize,
        of: impl Fn(&Outcome) -> f64,
    ) -> Table {
        let heading = [""].into_iter().chain(self.columns.iter().map(String::as_str));
        let mut table = Table::new(title, heading);
        for (name, row) in self.rows.iter().zip(self.medians(of)) {
            let cells = row.iter().map(|value| format!("{value:.decimals$}"));
            table.rows.push([name.clone()].into_iter().chain(cells).collect());
        }
        table
    }

    /// Returns the figure of a quantity. The columns stand at equal distances.
    pub(super) fn figure(
        &self,
        name: String,
        title: &str,
        x: &str,
        y: &str,
        of: impl Fn(&Outcome) -> f64,
    ) -> Figure {
        let series = self.rows.iter().zip(self.medians(of)).map(|(name, row)| Series {
            name: name.clone(),
            points: row.into_iter().enumerate().map(|(x, y)| (x as f64, y)).collect(),
        });
        Figure {
            name,
            title: title.to_owned(),
            x: x.to_owned(),
            y: y.to_owned(),
            series: series.collect(),
            style: Style::Lines,
            groups: self.columns.to_vec(),
        }
    }
}

/// Returns the share of the packets that came late, in percent.
pub(super) fn late_percent(outcome: &Outcome) -> f64 {
    100.0 * outcome.late as f64 / outcome.packets.max(1) as f64
}
