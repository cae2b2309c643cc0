//! The model of `mpt_core::advise`: its constants fitted to some cells, and its error on others.

use std::time::Duration;

use mpt_core::advise::{self, Model};
use mpt_core::reorder::{Equalize, Late};

use crate::report::{Figure, Report, Series, Style, Table};
use crate::study::{Spread, median};
use crate::tunnel::{Case, Path, Profile};

use super::super::{Experiment, Setting};
use super::grid::run_all;

/// Rates in Mbit/s, delays one way in ms, windows in packets: every combination is a cell.
struct Cells {
    name: &'static str,
    rates: [[u16; 2]; 4],
    delays: [[u64; 2]; 4],
    windows: [u16; 7],
}

/// The cells that the constants are fitted to.
const FIT: Cells = Cells {
    name: "fitted to",
    rates: [[100, 100], [100, 50], [50, 50], [20, 10]],
    delays: [[0, 5], [0, 20], [0, 50], [20, 40]],
    windows: [25, 50, 100, 200, 400, 800, 1600],
};
/// The cells that the model is judged by. No value occurs in [`FIT`].
const JUDGE: Cells = Cells {
    name: "judged by",
    rates: [[80, 40], [100, 10], [30, 30], [60, 20]],
    delays: [[0, 10], [0, 30], [10, 50], [5, 45]],
    windows: [35, 70, 150, 300, 600, 1200, 2400],
};
/// Duration of a run: the transient at 50 ms takes some 14 s.
const DURATION: Duration = Duration::from_secs(30);
const SETTLED_FROM: Duration = Duration::from_secs(18);

/// One cell: the inputs of the model, and the result of the simulator.
#[derive(Clone, Copy)]
struct Point {
    span: f64,
    spacing: f64,
    window: f64,
    /// Share of the capacity.
    share: f64,
}

impl Point {
    fn fits(&self) -> bool {
        self.window >= self.span + self.spacing
    }

    /// Returns the error of the model, as a share of the capacity.
    fn error(&self, model: &Model) -> f64 {
        model.share_of_paths(self.span, self.spacing, self.window) - self.share
    }
}

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let mut report = experiment.report(setting);
    let heading = [
        "",
        "cells",
        "error p50",
        "p90",
        "within 10 %",
        "too small: within 25 %",
        "10 % below the model",
    ];
    let mut table = Table::new(
        "Share of the capacity: the model less the simulator, in points; 30 s, from 18 s on",
        heading,
    );
    for late in [Late::Drop, Late::Deliver] {
        let sets =
            [FIT, JUDGE].map(|cells| (cells.name, points(experiment, setting, &cells, late)));
        if late == Late::Drop {
            let fitted = fit(&sets[0].1);
            let used = Model::FITTED;
            report.findings.push(format!(
                "Fitted: share {:.3}, offset {:.1} packets. In use: {:.3}, {:.1}.",
                fitted.share, fitted.offset, used.share, used.offset
            ));
            report.figures.push(figure(experiment, &sets));
        }
        let mode = if late == Late::Drop { "late packets dropped" } else { "delivered" };
        for (name, points) in &sets {
            table.rows.push(row(&format!("{mode}, cells {name}"), points));
        }
    }
    report.tables.push(table);
    report
}

fn points(experiment: &Experiment, setting: &Setting<'_>, cells: &Cells, late: Late) -> Vec<Point> {
    let mut cases = Vec::new();
    for rates in cells.rates {
        for delays in cells.delays {
            cases.extend(cells.windows.map(|window| case(rates, delays, window, late)));
        }
    }
    let outcomes = run_all(experiment, setting, &cases);
    let point = |(case, outcomes): (&Case, Vec<crate::tunnel::Outcome>)| {
        let paths: Vec<advise::Path> = case.paths.iter().map(Path::known).collect();
        Point {
            span: advise::span(&paths, advise::spread(&paths)),
            spacing: advise::spacing(&paths),
            window: f64::from(case.reorder.window()),
            share: median(outcomes.iter().map(|it| it.settled / it.capacity)),
        }
    };
    cases.iter().zip(outcomes).map(point).collect()
}

fn case(rates: [u16; 2], delays: [u64; 2], window: u16, late: Late) -> Case {
    let path = |index: usize| Path::new(rates[index], Duration::from_millis(delays[index]));
    let profile = if late == Late::Drop { Profile::Paper } else { Profile::Ours };
    let mut case = Case::new(profile, vec![path(0), path(1)], 0);
    (case.duration, case.settled_from) = (DURATION, SETTLED_FROM);
    (case.session, case.reorder.equalize) = (false, Equalize::Off);
    case.reorder.window = Some(window);
    case
}

/// Fits the model by least squares of the relative error over the cells whose window is too small. The share is linear in both parameters, so that
/// the minimum is where two linear equations hold.
fn fit(points: &[Point]) -> Model {
    let mut sums = [0.0; 5];
    for point in points.iter().filter(|point| !point.fits()) {
        // share = a * window / span + b * 1 / span, each divided by the share that was measured.
        let first = point.window / point.span / point.share;
        let second = 1.0 / point.span / point.share;
        let terms = [first * first, first * second, second * second, first, second];
        for (sum, term) in sums.iter_mut().zip(terms) {
            *sum += term;
        }
    }
    let [aa, ab, bb, a, b] = sums;
    let determinant = aa * bb - ab * ab;
    let share = (a * bb - b * ab) / determinant;
    let offset = (b * aa - a * ab) / determinant / share;
    Model { share, offset }
}

fn row(name: &str, points: &[Point]) -> Vec<String> {
    let errors: Vec<f64> = points.iter().map(|point| point.error(&Model::FITTED)).collect();
    let mut sorted: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sorted.sort_by(f64::total_cmp);
    let p90 = sorted.get(sorted.len() * 9 / 10).copied().unwrap_or(f64::NAN);
    let within = sorted.iter().filter(|&&error| error <= 0.1).count();
    let small: Vec<&Point> = points.iter().filter(|point| !point.fits()).collect();
    let near = |point: &&&Point| (point.error(&Model::FITTED) / point.share).abs() <= 0.25;
    vec![
        name.to_owned(),
        points.len().to_string(),
        format!("{:.1}", 100.0 * Spread::of(sorted.iter().copied()).median),
        format!("{:.1}", 100.0 * p90),
        format!("{within} of {}", points.len()),
        format!("{} of {}", small.iter().filter(near).count(), small.len()),
        errors.iter().filter(|&&error| error > 0.1).count().to_string(),
    ]
}

/// Returns a figure of every cell: its window as a share of the needed one, against its share of the capacity.
fn figure(experiment: &Experiment, sets: &[(&str, Vec<Point>)]) -> Figure {
    let series = sets.iter().map(|(name, points)| {
        let place = |point: &Point| (point.window / (point.span + point.spacing), point.share);
        let mut points: Vec<(f64, f64)> = points.iter().map(place).collect();
        points.retain(|&(x, _)| x <= 3.0);
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name: format!("cells {name}"), points }
    });
    Figure {
        name: experiment.name.to_owned(),
        title: "What is left with a window too small, late packets dropped".to_owned(),
        x: "window over what comes within the spread".to_owned(),
        y: "share of the capacity".to_owned(),
        series: series.collect(),
        style: Style::Lines,
        groups: Vec::new(),
    }
}
