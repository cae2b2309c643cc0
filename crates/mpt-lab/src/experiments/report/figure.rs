//! From single measurements to figures: the outcome of each repetition, and the median of the sound ones.

use std::collections::{BTreeMap, BTreeSet};

use super::quantity::adds_up;
use super::results::Results;
use crate::experiments::case::{CaseResult, CaseSpec, Flag};
use crate::experiments::definition::{Cell, Expectation};
use mpt_report::statistics::median;

/// Returns true for the rows of plain TCP over one link alone: `path1`, `path2`, …
pub(super) fn is_path(row: &str) -> bool {
    row.strip_prefix("path").is_some_and(|number| number.parse::<u16>().is_ok())
}

/// True if `cell` lies where `place` says, which may leave axes open.
fn within(place: &Cell, cell: &Cell) -> bool {
    place.iter().all(|(axis, value)| cell.get(axis) == Some(value))
}

/// The outcome of one repetition.
#[derive(Clone, Debug)]
pub(super) enum Outcome<'a> {
    /// It has not been measured yet.
    Missing,
    /// It ended without a figure.
    Failed(String),
    /// It was measured, but it says something about this machine or the emulator instead of the network.
    Limited(Limit),
    /// It gave a result.
    Sound(&'a CaseResult),
}

/// The limit of a measurement that was not the network's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    /// The processors, of which this part of the time was idle.
    Cpu(f64),
    /// The emulator, whose 99th percentile of lateness was this many seconds.
    Emulator(f64),
}

impl Limit {
    pub(super) fn sentence(self) -> String {
        match self {
            Self::Cpu(idle) => {
                format!(
                    "limited by the machine: its processors were idle {:.1} % of the time",
                    idle * 100.0
                )
            }
            Self::Emulator(p99) => format!(
                "limited by the emulator: 1 % of its packets were late by {:.0} us or more",
                p99 * 1e6
            ),
        }
    }
}

impl<'a> Outcome<'a> {
    fn of(case: Option<&'a CaseResult>) -> Self {
        let Some(case) = case else { return Self::Missing };
        let failed = case.flags.iter().find_map(|flag| match flag {
            Flag::Failed { why } => Some(why.clone()),
            Flag::HiddenLoss { counter, packets } => {
                Some(format!("{packets} packets were lost where no link is: {counter}"))
            }
            _ => None,
        });
        let limit = case.flags.iter().find_map(|flag| match flag {
            Flag::CpuSaturated { idle } => Some(Limit::Cpu(*idle)),
            Flag::EmulatorLate { p99 } => Some(Limit::Emulator(*p99)),
            _ => None,
        });
        match (failed, limit) {
            (Some(why), _) => Self::Failed(why),
            (None, Some(limit)) => Self::Limited(limit),
            (None, None) => Self::Sound(case),
        }
    }
}

/// The sound values of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// Number of values.
    pub(super) count: usize,
}

impl Spread {
    /// Returns the spread of these values; `None` without values.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let median = median(values)?;
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { median, min, max, count: values.len() })
    }

    /// Returns the distance of the smallest value to the largest.
    pub(super) fn width(&self) -> f64 {
        self.max - self.min
    }
}

/// One metric of one row in one cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Figure {
    /// The row is not part of this cell, or the metric is not part of this traffic.
    Absent,
    /// There is no sound value.
    Marked(Mark),
    /// There is a sound value.
    Sound {
        spread: Spread,
        /// Repetitions that were planned; some of them may be without a sound value.
        planned: usize,
    },
}

/// The reason why there is no figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    NotMeasured,
    Failed(String),
    Limited(Limit),
}

impl Mark {
    /// Returns the word that the table has instead of the figure.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::NotMeasured => "not measured",
            Self::Failed(_) => "failed",
            Self::Limited(Limit::Cpu(_)) => "CPU-limited",
            Self::Limited(Limit::Emulator(_)) => "emulator-limited",
        }
    }

    /// Returns the reason as a sentence.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::NotMeasured => "not measured".to_owned(),
            Self::Failed(why) => format!("failed: {why}"),
            Self::Limited(limit) => limit.sentence(),
        }
    }
}

impl Figure {
    pub(super) fn median(&self) -> Option<f64> {
        match self {
            Self::Sound { spread, .. } => Some(spread.median),
            _ => None,
        }
    }
}

/// An experiment's measurements by cell and row.
#[derive(Debug)]
pub(super) struct Grid<'a> {
    pub(super) results: &'a Results,
    /// The cells, in the order of the axes' values.
    pub(super) cells: Vec<Cell>,
    /// The number of times everything was to be measured, at most.
    pub(super) repetitions: usize,
    /// Repetitions by index of the cell, then by name of the row.
    places: Vec<BTreeMap<&'a str, Vec<Repetition<'a>>>>,
}

/// A measurement that was planned.
#[derive(Clone, Debug)]
pub(super) struct Repetition<'a> {
    pub(super) spec: &'a CaseSpec,
    pub(super) fingerprint: String,
    /// Its result, sound or not; `None` if there is none.
    pub(super) case: Option<&'a CaseResult>,
    pub(super) outcome: Outcome<'a>,
}

impl<'a> Grid<'a> {
    pub(super) fn new(results: &'a Results) -> Self {
        let cells = cells(results);
        let mut places: Vec<BTreeMap<_, Vec<_>>> = vec![BTreeMap::new(); cells.len()];
        for case in &results.plan.cases {
            let fingerprint = case.spec.fingerprint();
            let found = results.cases.get(&fingerprint);
            let outcome = Outcome::of(found);
            let repetition = Repetition { spec: &case.spec, fingerprint, case: found, outcome };
            for (index, _) in cells.iter().enumerate().filter(|(_, cell)| within(&case.cell, cell))
            {
                places[index].entry(case.row.as_str()).or_default().push(repetition.clone());
            }
        }
        for place in places.iter_mut().flat_map(BTreeMap::values_mut) {
            place.sort_by_key(|repetition| repetition.spec.repetition);
        }
        let repetitions = places.iter().flat_map(BTreeMap::values).map(Vec::len).max().unwrap_or(0);
        Self { results, cells, repetitions, places }
    }

    /// Returns all repetitions of a row in a cell.
    pub(super) fn at(&self, cell: usize, row: &str) -> &[Repetition<'a>] {
        self.places[cell].get(row).map_or(&[], Vec::as_slice)
    }

    /// Returns all measurements in the order of the tables, each with its cell and row.
    pub(super) fn every(&self) -> impl Iterator<Item = (usize, &'a str, &Repetition<'a>)> {
        let rows = &self.results.plan.rows;
        let places =
            (0..self.cells.len()).flat_map(move |cell| rows.iter().map(move |row| (cell, row)));
        places.flat_map(move |(cell, row)| {
            let row = row.name.as_str();
            self.at(cell, row).iter().map(move |repetition| (cell, row, repetition))
        })
    }

    /// Returns one metric of a row in a cell.
    pub(super) fn figure(&self, cell: usize, row: &str, metric: &str) -> Figure {
        let repetitions = self.at(cell, row);
        let sound = repetitions.iter().filter_map(|repetition| match repetition.outcome {
            Outcome::Sound(case) => case.metrics.get(metric).copied(),
            _ => None,
        });
        if let Some(spread) = Spread::of(&sound.collect::<Vec<_>>()) {
            return Figure::Sound { spread, planned: repetitions.len() };
        }
        // A failure matters more than a repetition that was not tried.
        let mark = repetitions.iter().find_map(|repetition| match &repetition.outcome {
            Outcome::Failed(why) => Some(Mark::Failed(why.clone())),
            _ => None,
        });
        let mark = mark.or_else(|| {
            repetitions.iter().find_map(|repetition| match &repetition.outcome {
                Outcome::Limited(limit) => Some(Mark::Limited(*limit)),
                _ => None,
            })
        });
        let missing =
            repetitions.iter().any(|repetition| matches!(repetition.outcome, Outcome::Missing));
        match mark.or(missing.then_some(Mark::NotMeasured)) {
            Some(mark) => Figure::Marked(mark),
            None => Figure::Absent,
        }
    }

    /// Returns what all paths carry alone, together. `None` unless there are at least two and all are sound.
    pub(super) fn sum_of_paths(&self, cell: usize, metric: &str) -> Option<f64> {
        let paths: Vec<_> = self.path_rows().collect();
        if paths.len() < 2 || !adds_up(metric) {
            return None;
        }
        // Cells may have different numbers of paths.
        let planned = paths.iter().filter(|row| !self.at(cell, row).is_empty());
        let figures = planned.map(|row| self.figure(cell, row, metric).median());
        figures.sum::<Option<f64>>().filter(|&sum| sum > 0.0)
    }

    /// Returns what a row carries of what all paths carry alone, both of the same run.
    pub(super) fn efficiency(&self, cell: usize, row: &str, metric: &str) -> Option<f64> {
        if is_path(row) {
            return None;
        }
        Some(self.figure(cell, row, metric).median()? / self.sum_of_paths(cell, metric)?)
    }

    /// Returns what the paper published there, and by what its rates were divided here. The figure is not divided.
    pub(super) fn published(&self, cell: usize, row: &str, metric: &str) -> Option<(f64, f64)> {
        let all = &self.results.plan.published;
        let found = all.iter().find(|published| {
            let place = within(&published.cell, &self.cells[cell]);
            published.row == row && published.metric == metric && place
        })?;
        let scale = self.at(cell, row).first().map_or(1.0, |repetition| repetition.spec.scale);
        Some((found.value, if adds_up(metric) { scale } else { 1.0 }))
    }

    /// Returns the rows that are single paths.
    pub(super) fn path_rows(&self) -> impl Iterator<Item = &'a str> {
        self.results.plan.rows.iter().map(|row| row.name.as_str()).filter(|name| is_path(name))
    }

    /// Returns the cells that an expectation is about.
    pub(super) fn cells_of(&self, expectation: &Expectation) -> Vec<usize> {
        let concerned = |&index: &usize| {
            within(&expectation.only, &self.cells[index])
                && !self.at(index, &expectation.row).is_empty()
        };
        (0..self.cells.len()).filter(concerned).collect()
    }

    /// Returns a cell as a text: `delay 50ms, rate 10mbit`.
    pub(super) fn name(&self, cell: usize) -> String {
        let axes = self.results.plan.axes.iter();
        let parts = axes.filter_map(|axis| {
            self.cells[cell].get(&axis.name).map(|value| format!("{} {value}", axis.name))
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the distinct places of the cases, without those that only leave open what others name: those belong to several.
fn cells(results: &Results) -> Vec<Cell> {
    let distinct: BTreeSet<&Cell> = results.plan.cases.iter().map(|case| &case.cell).collect();
    let open =
        |cell: &Cell| distinct.iter().any(|other| other.len() > cell.len() && within(cell, other));
    let mut cells: Vec<Cell> =
        distinct.iter().filter(|cell| !open(cell)).map(|&cell| cell.clone()).collect();
    let position = |cell: &Cell| {
        let axes = results.plan.axes.iter();
        let values = axes.map(|axis| {
            cell.get(&axis.name).and_then(|value| axis.values.iter().position(|its| its == value))
        });
        values.collect::<Vec<_>>()
    };
    cells.sort_by_cached_key(position);
    cells
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Sample, cell};
    use super::*;
    use crate::experiments::case::metric::{GOODPUT, RETRANSMISSIONS, RTT_AVG};

    fn failed() -> Flag {
        Flag::Failed { why: "no route".into() }
    }

    #[test]
    fn a_figure_is_the_median_of_the_sound_repetitions() {
        let sample = Sample::new("x").rows(&["ours"]).measured(&[], "ours", &[3.0, 1.0, 2.0]);
        let sample = sample.flagged(&[], "ours", 99.0, Flag::EmulatorLate { p99: 0.01 });
        let sample = sample.flagged(&[], "ours", 99.0, failed()).planned(&[], "ours", 1);
        let Figure::Sound { spread, planned } =
            Grid::new(&sample.results).figure(0, "ours", GOODPUT)
        else {
            panic!("three repetitions are sound");
        };
        assert_eq!((spread.median, spread.min, spread.max), (2.0, 1.0, 3.0));
        assert_eq!((spread.count, planned), (3, 6));
    }

    #[test]
    fn what_is_not_sound_is_a_mark_and_no_figure() {
        let limited = Flag::CpuSaturated { idle: 0.0 };
        let hidden = Flag::HiddenLoss { counter: "a/tap0/rx_dropped".into(), packets: 3 };
        let sample = Sample::new("x")
            .rows(&["limited", "failed", "hidden", "missing", "absent"])
            .flagged(&[], "limited", 5.0, limited)
            .flagged(&[], "failed", 5.0, failed())
            .flagged(&[], "hidden", 5.0, hidden)
            .planned(&[], "missing", 1);
        let grid = Grid::new(&sample.results);
        let mark = |row: &str| match grid.figure(0, row, GOODPUT) {
            Figure::Marked(mark) => mark.word(),
            other => panic!("{row}: {other:?}"),
        };
        let rows = ["limited", "failed", "hidden", "missing"];
        assert_eq!(rows.map(mark), ["CPU-limited", "failed", "failed", "not measured"]);
        assert_eq!(grid.figure(0, "absent", GOODPUT), Figure::Absent);
        let sound = Sample::new("x").rows(&["ours"]).measured(&[], "ours", &[1.0]);
        assert_eq!(Grid::new(&sound.results).figure(0, "ours", RTT_AVG), Figure::Absent);
    }

    #[test]
    fn zero_is_a_figure() {
        let sample = Sample::new("x").rows(&["ours"]).measured(&[], "ours", &[0.0]);
        assert_eq!(Grid::new(&sample.results).figure(0, "ours", GOODPUT).median(), Some(0.0));
    }

    #[test]
    fn efficiency_needs_every_path_of_the_cell() {
        let sample = Sample::new("x").rows(&["path1", "path2", "path3", "ours"]);
        let sample = sample.axis("paths", &["2", "3", "4"]);
        let two = [("paths", "2")];
        let three = [("paths", "3")];
        let sample = sample
            .measured(&two, "path1", &[10.0])
            .measured(&two, "path2", &[90.0])
            .measured(&two, "ours", &[97.0])
            .measured(&three, "path1", &[10.0])
            .measured(&three, "path2", &[90.0])
            .planned(&three, "path3", 1)
            .measured(&three, "ours", &[97.0])
            .measured(&[("paths", "4")], "path1", &[0.0])
            .measured(&[("paths", "4")], "path2", &[0.0])
            .measured(&[("paths", "4")], "ours", &[1.0]);
        let grid = Grid::new(&sample.results);
        assert_eq!(grid.efficiency(0, "ours", GOODPUT), Some(0.97));
        assert_eq!(grid.efficiency(1, "ours", GOODPUT), None, "a path was not measured");
        assert_eq!(grid.efficiency(2, "ours", GOODPUT), None, "nothing is no share of nothing");
        assert_eq!(grid.efficiency(0, "path1", GOODPUT), None);
        assert_eq!(grid.efficiency(0, "ours", RETRANSMISSIONS), None);
    }

    #[test]
    fn cells_stand_in_the_order_of_the_axes_and_open_places_belong_to_several() {
        let sample = Sample::new("x").axis("delay", &["0ms", "10ms"]).axis("loss", &["0%", "1%"]);
        let sample = sample
            .rows(&["path1", "ours"])
            .measured(&[("delay", "10ms"), ("loss", "0%")], "ours", &[1.0])
            .measured(&[("delay", "0ms"), ("loss", "1%")], "ours", &[2.0])
            .measured(&[("delay", "0ms"), ("loss", "0%")], "ours", &[3.0])
            .measured(&[("delay", "0ms")], "path1", &[9.0]);
        let grid = Grid::new(&sample.results);
        let names: Vec<_> = (0..grid.cells.len()).map(|cell| grid.name(cell)).collect();
        assert_eq!(names, ["delay 0ms, loss 0%", "delay 0ms, loss 1%", "delay 10ms, loss 0%"]);
        let path = |index| grid.figure(index, "path1", GOODPUT).median();
        assert_eq!([path(0), path(1), path(2)], [Some(9.0), Some(9.0), None]);
        assert!(within(&cell(&[]), &grid.cells[0]));
    }

    #[test]
    fn the_papers_figure_knows_the_scale() {
        let sample = Sample::new("x").axis("delay", &["0ms"]).rows(&["paper"]);
        let sample = sample.measured(&[("delay", "0ms")], "paper", &[100.0]).scaled(10.0);
        let sample = sample.published(&[], "paper", 1020.0);
        let grid = Grid::new(&sample.results);
        assert_eq!(grid.published(0, "paper", GOODPUT), Some((1020.0, 10.0)));
        assert_eq!(grid.published(0, "paper", RTT_AVG), None);
    }
}
