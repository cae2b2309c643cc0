//! The comparison of two directories of results: the cells that differ by more than their spread.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Result, ensure};
use mpt_text::table::Table;

use super::figure::{Figure, Grid, Spread};
use super::formats::terminal::plain;
use super::quantity::Quantity;
use super::results::{Results, load};
use crate::experiments::definition::Cell;

/// The common figures of two directories, and their differences.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Number of figures that both have.
    pub(super) compared: usize,
    /// The common figures that differ.
    pub(super) different: Vec<Difference>,
    /// Figures that only one of them has: those of the other were not measured, or are not results of the network.
    pub(super) one_sided: usize,
}

/// A figure that differs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    experiment: String,
    place: String,
    row: String,
    metric: String,
    a: Figure,
    b: Figure,
}

/// Compares all experiments that both directories have. Medians differ when they are farther apart than the wider of
/// both spreads (smallest to largest) and than `tolerance` of the first: a single repetition has no spread.
///
/// # Errors
///
/// Fails when a directory cannot be read, or no experiment is in both.
pub(super) fn compare(a: &Path, b: &Path, tolerance: f64) -> Result<Comparison> {
    let (all_a, all_b) = (load(a)?, load(b)?);
    let mut comparison = Comparison::default();
    for one in &all_a {
        if let Some(other) = all_b.iter().find(|other| other.plan.name == one.plan.name) {
            comparison.add(one, other, tolerance);
        }
    }
    ensure!(
        comparison.compared + comparison.one_sided > 0,
        "{} and {} have no measurement in common",
        a.display(),
        b.display()
    );
    Ok(comparison)
}

impl Comparison {
    fn add(&mut self, one: &Results, other: &Results, tolerance: f64) {
        let (grid_a, grid_b) = (Grid::new(one), Grid::new(other));
        let cells_b: BTreeMap<&Cell, usize> =
            grid_b.cells.iter().enumerate().map(|(index, cell)| (cell, index)).collect();
        let metrics: BTreeSet<&String> = one.plan.also.iter().chain([&one.plan.metric]).collect();
        for (cell_a, cell) in grid_a.cells.iter().enumerate() {
            let Some(&cell_b) = cells_b.get(cell) else { continue };
            for row in &one.plan.rows {
                for metric in &metrics {
                    let a = grid_a.figure(cell_a, &row.name, metric);
                    let b = grid_b.figure(cell_b, &row.name, metric);
                    let Some(differ) = differ(&a, &b, tolerance) else {
                        self.one_sided += usize::from(a.median().is_some() != b.median().is_some());
                        continue;
                    };
                    self.compared += 1;
                    if differ {
                        self.different.push(Difference {
                            experiment: one.plan.name.clone(),
                            place: grid_a.name(cell_a),
                            row: row.name.clone(),
                            metric: (*metric).clone(),
                            a,
                            b,
                        });
                    }
                }
            }
        }
    }
}

/// Returns whether two figures differ; `None` if they cannot be compared.
fn differ(a: &Figure, b: &Figure, tolerance: f64) -> Option<bool> {
    let (Figure::Sound { spread: a, .. }, Figure::Sound { spread: b, .. }) = (a, b) else {
        return None;
    };
    let distance = (a.median - b.median).abs();
    let spread = a.width().max(b.width());
    Some(distance > spread && distance > tolerance * a.median.abs())
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.different.is_empty() {
            let heading = ["experiment", "cell", "row", "figure", "first", "second", "change"];
            let mut table = Table::ruled(heading);
            for difference in &self.different {
                let Difference { experiment, place, row, metric, a, b } = difference;
                let quantity = Quantity::of(metric);
                let change = match (a.median(), b.median()) {
                    (Some(a), Some(b)) if a != 0.0 => format!("{:+.1} %", (b / a - 1.0) * 100.0),
                    _ => String::new(),
                };
                let names = [experiment, place, row, &quantity.heading()].map(|name| plain(name));
                table.row(names.into_iter().chain([
                    show(&quantity, a),
                    show(&quantity, b),
                    change,
                ]));
            }
            writeln!(f, "{table}")?;
        }
        writeln!(
            f,
            "{} of {} figures differ; {} could not be compared: one side has no sound measurement",
            self.different.len(),
            self.compared,
            self.one_sided
        )
    }
}

fn show(quantity: &Quantity, figure: &Figure) -> String {
    let number = |value| quantity.number(value);
    match figure {
        Figure::Sound { spread: Spread { median, min, max, count }, .. } if *count > 1 => {
            format!("{} ({} to {})", number(*median), number(*min), number(*max))
        }
        Figure::Sound { spread, .. } => number(spread.median),
        Figure::Marked(mark) => mark.word().to_owned(),
        Figure::Absent => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;
    use crate::experiments::case::Flag;

    fn sample(values: &[f64]) -> Sample {
        let sample = Sample::new("x").axis("delay", &["0ms"]).rows(&["ours"]);
        sample.measured(&[("delay", "0ms")], "ours", values)
    }

    fn compared(a: &Sample, b: &Sample) -> Comparison {
        let mut comparison = Comparison::default();
        comparison.add(&a.results, &b.results, 0.05);
        comparison
    }

    #[test]
    fn a_difference_is_wider_than_both_spreads_and_the_tolerance() {
        let differs = |a: &[f64], b: &[f64]| !compared(&sample(a), &sample(b)).different.is_empty();
        assert!(differs(&[100.0, 101.0], &[90.0, 91.0]));
        assert!(!differs(&[100.0, 80.0], &[75.0, 76.0]), "the first is spread over 20");
        assert!(!differs(&[100.0], &[96.0]), "within the tolerance");
        assert!(differs(&[100.0], &[94.0]));
        assert!(differs(&[0.0], &[1.0]) && !differs(&[0.0], &[0.0]));
    }

    #[test]
    fn what_is_not_sound_is_not_compared() {
        let limited = Sample::new("x").axis("delay", &["0ms"]).rows(&["ours"]);
        let flag = Flag::CpuSaturated { idle: 0.0 };
        let limited = limited.flagged(&[("delay", "0ms")], "ours", 5.0, flag);
        let comparison = compared(&sample(&[100.0]), &limited);
        assert_eq!((comparison.compared, comparison.different.len()), (0, 0));
        assert_eq!(comparison.one_sided, 2, "goodput and retransmissions");
    }

    #[test]
    fn the_table_names_place_and_change() {
        let comparison = compared(&sample(&[100.0, 102.0, 101.0]), &sample(&[90.9]));
        insta::assert_snapshot!(comparison.to_string(), @"
        experiment       cell   row           figure                   first  second   change
        -------------------------------------------------------------------------------------
        x           delay 0ms  ours  goodput, Mbit/s  101.0 (100.0 to 102.0)   90.90  -10.0 %

        1 of 2 figures differ; 0 could not be compared: one side has no sound measurement
        ");
    }

    #[test]
    fn directories_with_nothing_in_common_are_refused() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        sample(&[1.0]).write(a.path());
        let error = compare(a.path(), b.path(), 0.05).unwrap_err().to_string();
        assert!(error.contains("have no measurement in common"), "{error}");
        sample(&[1.0]).write(b.path());
        assert_eq!(compare(a.path(), b.path(), 0.05).unwrap().compared, 2);
    }
}
