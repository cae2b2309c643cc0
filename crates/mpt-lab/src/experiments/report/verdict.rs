//! The verdict on the expectations.

use super::figure::{Figure, Grid, Mark};
use super::quantity::{Quantity, number, percent, percent_limit, signed};
use super::results::Results;
use crate::experiments::definition::Expectation;

/// The judgement of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    /// A cell lies outside the limits.
    Missed,
    /// A cell lies outside the limits of a goal, which is not demanded.
    GoalMissed,
    /// No cell lies outside the limits, but not all of them could be judged.
    Open,
    /// All cells lie between the limits.
    Met,
}

impl Status {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::GoalMissed => "goal missed",
            Self::Open => "open",
            Self::Met => "met",
        }
    }
}

/// An expectation, judged in every cell that it is about.
#[derive(Clone, Debug)]
pub(super) struct Verdict<'a> {
    pub(super) expectation: &'a Expectation,
    pub(super) status: Status,
    /// The cell nearest to a limit or farthest beyond it, and the value that is judged there.
    pub(super) worst: Option<(usize, f64)>,
    /// Cells that could be judged, and how many of them lie outside the limits.
    pub(super) judged: usize,
    pub(super) outside: usize,
    /// Cells that could not be judged, each with the reason.
    pub(super) open: Vec<(usize, String)>,
    /// Cells whose ratio is larger than the network allows, so that the rows that are compared with were measured too low.
    pub(super) unsound: Vec<usize>,
}

/// Judges all expectations of an experiment.
pub(super) fn judge<'a>(grid: &Grid<'a>) -> Vec<Verdict<'a>> {
    grid.results
        .plan
        .expectations
        .iter()
        .map(|expectation| Verdict::of(expectation, grid))
        .collect()
}

impl Results {
    /// Returns how many expectations are missed or could not be judged. Goals are none.
    pub(crate) fn unmet(&self) -> usize {
        let unmet = |verdict: &&Verdict<'_>| match verdict.status {
            Status::Missed => true,
            Status::Open => !verdict.expectation.goal,
            Status::GoalMissed | Status::Met => false,
        };
        judge(&Grid::new(self)).iter().filter(unmet).count()
    }
}

impl<'a> Verdict<'a> {
    fn of(expectation: &'a Expectation, grid: &Grid<'a>) -> Self {
        let (mut open, mut unsound) = (Vec::new(), Vec::new());
        let mut worst: Option<(usize, f64)> = None;
        let (mut judged, mut outside) = (0, 0);
        for cell in grid.cells_of(expectation) {
            let value = match value(expectation, grid, cell) {
                Ok(value) => value,
                Err(reason) => {
                    open.push((cell, reason));
                    continue;
                }
            };
            if expectation.sound_up_to.is_some_and(|largest| value > largest) {
                unsound.push(cell);
                continue;
            }
            judged += 1;
            let room = room(expectation, value);
            if room < 0.0 {
                outside += 1;
            }
            if worst.is_none_or(|(_, worst)| room < self::room(expectation, worst)) {
                worst = Some((cell, value));
            }
        }
        let status = match (outside, expectation.goal) {
            (1.., true) => Status::GoalMissed,
            (1.., false) => Status::Missed,
            (0, _) if judged == 0 || !open.is_empty() || !unsound.is_empty() => Status::Open,
            (0, _) => Status::Met,
        };
        Self { expectation, status, worst, judged, outside, open, unsound }
    }

    /// Returns the rows that are compared with: `(path1 + path2)`.
    fn base(&self) -> String {
        match self.expectation.over.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            several => format!("({})", several.join(" + ")),
        }
    }

    /// Returns what is asked: `ours / (path1 + path2) at least 97 %`.
    pub(super) fn demand(&self) -> String {
        let Expectation { row, over, at_least, at_most, .. } = self.expectation;
        let base = self.base();
        let judged = match (over.is_empty(), self.expectation.difference) {
            (true, _) => row.clone(),
            (false, true) => format!("{row} - {base}"),
            (false, false) => format!("{row} / {base}"),
        };
        let limits = [("at least", at_least), ("at most", at_most)];
        let limits = limits.iter().filter_map(|(word, limit)| {
            limit.map(|limit| format!("{word} {}", self.show(limit, true)))
        });
        format!("{judged} {}", limits.collect::<Vec<_>>().join(", "))
    }

    /// Returns a value as this expectation judges it.
    fn show(&self, value: f64, limit: bool) -> String {
        let quantity = Quantity::of(&self.expectation.metric);
        match (self.expectation.over.is_empty(), self.expectation.difference) {
            (true, _) | (false, true) if limit => quantity.limit(value),
            (true, _) => quantity.show(value),
            (false, true) => format!("{} {}", signed(value), quantity.unit).trim_end().to_owned(),
            (false, false) if limit => percent_limit(value),
            (false, false) => percent(value),
        }
    }

    /// Returns what became of it, in words: the worst cell, how many are outside, how many are open.
    pub(super) fn finding(&self, grid: &Grid) -> String {
        let mut parts = Vec::new();
        if let Some((cell, value)) = self.worst {
            let place = match grid.name(cell) {
                name if name.is_empty() => String::new(),
                name => format!(" at {name}"),
            };
            let word = if self.judged > 1 { "worst " } else { "" };
            parts.push(format!("{word}{}{place}", self.show(value, false)));
        }
        if self.judged > 1 && self.outside > 0 {
            parts.push(format!("{} of {} cells outside", self.outside, self.judged));
        }
        if let Some(largest) = self.expectation.sound_up_to.filter(|_| !self.unsound.is_empty()) {
            let places: Vec<_> = self.unsound.iter().map(|&cell| grid.name(cell)).collect();
            let largest = percent_limit(largest);
            parts.push(format!(
                "{} is no sound baseline at {}: the ratio would be above {largest}",
                self.base(),
                places.join("; ")
            ));
        }
        match self.open.as_slice() {
            [] if !self.unsound.is_empty() => {}
            [] if self.judged == 0 => parts.push("no cell of this run is about it".to_owned()),
            [] => {}
            [(cell, reason), rest @ ..] => {
                let others = match rest.len() {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                let place = match grid.name(*cell) {
                    name if name.is_empty() => String::new(),
                    name => format!("{name}, "),
                };
                parts.push(format!("not judged: {place}{reason}{others}"));
            }
        }
        parts.join("; ")
    }
}

/// Returns what is compared with the limits, or why there is nothing to compare.
fn value(expectation: &Expectation, grid: &Grid, cell: usize) -> Result<f64, String> {
    let median = |row: &str| match grid.figure(cell, row, &expectation.metric) {
        Figure::Sound { spread, .. } => Ok(spread.median),
        Figure::Absent => Err(format!("{row} has no such figure")),
        Figure::Marked(Mark::NotMeasured) => Err(format!("{row} was not measured")),
        Figure::Marked(Mark::Failed(_)) => Err(format!("{row} failed")),
        Figure::Marked(mark) => Err(format!("{row} is {}", mark.word())),
    };
    let judged = median(&expectation.row)?;
    if expectation.over.is_empty() {
        return Ok(judged);
    }
    let base = expectation.over.iter().map(|row| median(row)).sum::<Result<f64, _>>()?;
    if expectation.difference {
        return Ok(judged - base);
    }
    if base == 0.0 {
        return Err(format!(
            "{} is {}, so there is no ratio",
            expectation.over.join(" + "),
            number(base)
        ));
    }
    Ok(judged / base)
}

/// Returns how far a value is from the nearest limit; negative: beyond it.
fn room(expectation: &Expectation, value: f64) -> f64 {
    let above = expectation.at_least.map_or(f64::INFINITY, |limit| value - limit);
    let below = expectation.at_most.map_or(f64::INFINITY, |limit| limit - value);
    above.min(below)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Sample, cell, delays, expectation};
    use super::*;
    use crate::experiments::case::Flag;

    /// Returns paths of 10 and 90, and a tunnel with this goodput in cells `0`, `1`, …
    fn sample(ours: &[f64]) -> Sample {
        let names: Vec<String> = (0..=ours.len()).map(|cell| cell.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut sample = Sample::new("x").axis("cell", &names).rows(&["path1", "path2", "ours"]);
        for (name, &value) in names.iter().zip(ours) {
            let at = [("cell", *name)];
            sample = sample.measured(&at, "path1", &[10.0]).measured(&at, "path2", &[90.0]);
            sample = sample.measured(&at, "ours", &[value]);
        }
        sample
    }

    /// Returns the first verdict: its status, the worst cell and value, and the finding.
    fn judged(sample: &Sample) -> (Status, Option<(usize, f64)>, String) {
        let grid = Grid::new(&sample.results);
        let verdict = judge(&grid).remove(0);
        (verdict.status, verdict.worst, verdict.finding(&grid))
    }

    fn ratio() -> Expectation {
        expectation("ours", &["path1", "path2"], 0.97)
    }

    #[test]
    fn every_cell_has_to_be_between_the_limits() {
        let (status, worst, found) = judged(&sample(&[99.0, 97.0, 98.0]).expects(ratio()));
        assert_eq!((status, worst), (Status::Met, Some((1, 0.97))));
        assert_eq!(found, "worst 97.0 % at cell 1");
        let (status, _, found) = judged(&sample(&[99.0, 96.0, 95.0]).expects(ratio()));
        assert_eq!(status, Status::Missed);
        assert_eq!(found, "worst 95.0 % at cell 2; 2 of 3 cells outside");
    }

    #[test]
    fn a_goal_is_never_a_demand() {
        let goal = Expectation { goal: true, ..ratio() };
        assert_eq!(judged(&sample(&[50.0]).expects(goal.clone())).0, Status::GoalMissed);
        assert_eq!(judged(&sample(&[97.0]).expects(goal)).0, Status::Met);
    }

    #[test]
    fn upper_limits_differences_and_figures_alone() {
        let most = Expectation { at_least: None, at_most: Some(1.1), ..ratio() };
        assert_eq!(judged(&sample(&[100.0, 120.0]).expects(most)).1, Some((1, 1.2)));
        let sample_of = |expectation| sample(&[99.5]).expects(expectation);
        let added =
            Expectation { difference: true, at_least: Some(-1.0), at_most: Some(0.2), ..ratio() };
        let (status, worst, found) = judged(&sample_of(added));
        assert_eq!((status, worst), (Status::Met, Some((0, -0.5))));
        assert_eq!(found, "-0.500 Mbit/s at cell 0");
        let alone = Expectation { over: Vec::new(), at_least: Some(100.0), ..ratio() };
        let (status, _, found) = judged(&sample_of(alone));
        assert_eq!((status, found.as_str()), (Status::Missed, "99.50 Mbit/s at cell 0"));
    }

    #[test]
    fn a_ratio_that_the_network_does_not_allow_is_no_result() {
        let sound = Expectation { sound_up_to: Some(1.1), ..ratio() };
        assert_eq!(judged(&sample(&[99.0, 110.0]).expects(sound.clone())).0, Status::Met);
        let (status, worst, found) = judged(&sample(&[99.0, 111.0]).expects(sound.clone()));
        assert_eq!((status, worst), (Status::Open, Some((0, 0.99))));
        let told = "(path1 + path2) is no sound baseline at cell 1: the ratio would be above 110 %";
        assert_eq!(found, format!("99.0 % at cell 0; {told}"));
        let (status, worst, found) = judged(&sample(&[111.0]).expects(sound.clone()));
        assert_eq!((status, worst, found), (Status::Open, None, told.replace("cell 1", "cell 0")));
        // Another cell is missed all the same.
        assert_eq!(judged(&sample(&[90.0, 111.0]).expects(sound)).0, Status::Missed);
    }

    #[test]
    fn demands_are_readable() {
        let sample = sample(&[99.0])
            .expects(ratio())
            .expects(Expectation { over: vec!["mptcp".into()], at_most: Some(1.05), ..ratio() })
            .expects(Expectation { over: Vec::new(), at_least: Some(20.0), ..ratio() });
        let grid = Grid::new(&sample.results);
        let demands: Vec<_> = judge(&grid).iter().map(Verdict::demand).collect();
        let expected = [
            "ours / (path1 + path2) at least 97 %",
            "ours / mptcp at least 97 %, at most 105 %",
            "ours at least 20 Mbit/s",
        ];
        assert_eq!(demands, expected);
    }

    #[test]
    fn cells_without_a_figure_leave_it_open_unless_another_misses() {
        let at = [("cell", "1")];
        let with = |sample: Sample| {
            let sample = sample.measured(&at, "path1", &[10.0]).measured(&at, "path2", &[90.0]);
            sample.expects(ratio())
        };
        let missing = with(sample(&[99.0])).planned(&at, "ours", 2);
        let (status, _, found) = judged(&missing);
        assert_eq!(status, Status::Open);
        assert_eq!(found, "99.0 % at cell 0; not judged: cell 1, ours was not measured");
        let failed = Flag::Failed { why: "gone".into() };
        let failed = with(sample(&[99.0])).flagged(&at, "ours", 1.0, failed);
        assert_eq!(judged(&failed).2, "99.0 % at cell 0; not judged: cell 1, ours failed");
        let limited = Flag::CpuSaturated { idle: 0.0 };
        let limited = with(sample(&[90.0])).flagged(&at, "ours", 1.0, limited);
        let (status, _, found) = judged(&limited);
        assert_eq!(status, Status::Missed);
        assert_eq!(found, "90.0 % at cell 0; not judged: cell 1, ours is CPU-limited");
    }

    #[test]
    fn nothing_to_compare_with_is_open_and_a_figure_of_zero_is_judged() {
        let nothing = Sample::new("x").rows(&["path1", "ours"]).measured(&[], "path1", &[0.0]);
        let nothing =
            nothing.measured(&[], "ours", &[5.0]).expects(expectation("ours", &["path1"], 0.9));
        let (status, worst, found) = judged(&nothing);
        assert_eq!((status, worst), (Status::Open, None));
        assert_eq!(found, "not judged: path1 is 0, so there is no ratio");
        assert_eq!(judged(&sample(&[0.0]).expects(ratio())).1, Some((0, 0.0)));
    }

    #[test]
    fn cells_that_it_is_not_about_do_not_count() {
        let only = Expectation { only: cell(&[("cell", "0")]), ..ratio() };
        assert_eq!(judged(&sample(&[99.0, 1.0]).expects(only)).0, Status::Met);
        let elsewhere = Expectation { only: cell(&[("cell", "7")]), ..ratio() };
        let (status, _, found) = judged(&sample(&[99.0]).expects(elsewhere));
        assert_eq!((status, found.as_str()), (Status::Open, "no cell of this run is about it"));
        let unplanned = expectation("openvpn", &["path1"], 0.9);
        assert_eq!(judged(&sample(&[99.0]).expects(unplanned)).0, Status::Open);
    }

    #[test]
    fn medians_are_judged_not_single_repetitions() {
        let statuses: Vec<_> = {
            let sample = delays();
            judge(&Grid::new(&sample.results)).iter().map(|verdict| verdict.status).collect()
        };
        assert_eq!(statuses, [Status::Met, Status::Met]);
    }
}
