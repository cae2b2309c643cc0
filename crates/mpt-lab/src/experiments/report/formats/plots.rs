//! The charts of an experiment: its figures over the last axis, and its series over time.

use std::collections::BTreeMap;

use mpt_report::{Chart, Line, Point, Style, round_ticks};

use super::sheet::SUM;
use crate::experiments::case::{CaseResult, Series};
use crate::experiments::definition::{Axis, Cell, Row};
use crate::experiments::report::figure::{Figure, Grid, Outcome, is_path};
use crate::experiments::report::quantity::{Quantity, adds_up};

/// Most charts over time of an experiment; `series.csv` has all series.
const TIME_CHARTS: usize = 12;
/// Most points of a line over time: more than a panel has pixels.
const TIME_POINTS: usize = 240;
/// Ratio of the largest distance of two neighbours to the smallest above which figures stand at equal distances, as on the papers' axes of window
/// sizes.
const UNEVEN: f64 = 12.0;
/// Number of colours of the style sheet for rows that have none of their own.
const OTHERS: usize = 4;
/// The row of mpt in which nothing is configured; no experiment has it beside `ours`.
pub(super) const ADAPTIVE: &str = "adaptive";

/// Returns the charts of the first metric over the last axis that varies: one for each place on the other axes.
pub(super) fn over_axis(grid: &Grid) -> Vec<Chart> {
    let plan = &grid.results.plan;
    let Some(axis) = plan.axes.iter().rev().find(|axis| axis.values.len() > 1) else {
        return Vec::new();
    };
    let mut groups: BTreeMap<Cell, Vec<usize>> = BTreeMap::new();
    let mut order = Vec::new();
    for (index, cell) in grid.cells.iter().enumerate() {
        let mut rest = cell.clone();
        rest.remove(&axis.name);
        if !groups.contains_key(&rest) {
            order.push(rest.clone());
        }
        groups.entry(rest).or_default().push(index);
    }
    let positions = Positions::of(axis);
    let several = order.len() > 1;
    let charts = order.iter().map(|rest| {
        let place = rest.iter().map(|(name, value)| format!("{name} {value}"));
        let place = place.collect::<Vec<_>>().join(", ");
        chart(grid, axis, &positions, &groups[rest], place, several)
    });
    charts.filter(|chart| !chart.is_empty()).collect()
}

/// Returns the charts of a series over time: one for each cell, or for some of them, with a line for each row. Of a series of each path, such as
/// `path rate` with `path rate/path1` and so on, there is one chart for each row, with a line for each path.
pub(super) fn over_time(grid: &Grid, series: &str) -> Vec<Chart> {
    let of_cell = |cell: usize| {
        let mut charts: Vec<Chart> = of_rows(grid, cell, series).into_iter().collect();
        let rows = grid.results.plan.rows.iter();
        charts.extend(rows.filter_map(|row| of_paths(grid, cell, row, series)));
        charts
    };
    let charts = (0..grid.cells.len()).flat_map(of_cell);
    evenly(charts.filter(|chart| !chart.is_empty()).collect(), TIME_CHARTS)
}

/// Returns one chart of a cell, with a line for each row that has the series.
fn of_rows(grid: &Grid, cell: usize, series: &str) -> Option<Chart> {
    let lines = grid.results.plan.rows.iter().filter_map(|row| {
        let found = sound(grid, cell, &row.name)?.series.get(series)?;
        Some((class(grid, &row.name), row.label.clone(), found))
    });
    let title = match grid.name(cell) {
        name if name.is_empty() => series.to_owned(),
        name => name,
    };
    in_time(title, series, lines.collect())
}

/// Returns one chart of a row in a cell, with a line for each path that has the series.
fn of_paths(grid: &Grid, cell: usize, row: &Row, series: &str) -> Option<Chart> {
    let found = sound(grid, cell, &row.name)?.series.iter();
    let of_path = found.filter_map(|(name, found)| {
        let path = name.strip_prefix(series)?.strip_prefix('/')?;
        Some((path, found))
    });
    let lines = of_path.enumerate().map(|(number, (path, found))| {
        (format!("other-{}", number % OTHERS), path.to_owned(), found)
    });
    let title = match grid.name(cell) {
        name if name.is_empty() => row.label.clone(),
        name => format!("{name}: {}", row.label),
    };
    in_time(title, series, lines.collect())
}

/// Returns a chart of series that have the same unit, each with its class and label; `None` without any.
fn in_time(title: String, series: &str, lines: Vec<(String, String, &Series)>) -> Option<Chart> {
    let unit = &lines.first()?.2.unit;
    let y_label = if unit.is_empty() { series.to_owned() } else { format!("{series}, {unit}") };
    let ends = lines.iter().map(|(.., found)| found.values.len() as f64 * found.step);
    let (x_label, ticks) = ("seconds".to_owned(), round_ticks(ends.fold(0.0, f64::max)));
    let line = |(class, label, found): (String, String, &Series)| {
        let points = thinned(found).into_iter().map(Some).collect();
        Line { class, label, printed: false, joined: true, points }
    };
    let lines = lines.into_iter().map(line).collect();
    Some(Chart { title, x_label, y_label, ticks, lines, style: Style::Lines, panel: true })
}

/// Returns the class that gives a row its colour: the same in all charts.
pub(super) fn class(grid: &Grid, row: &str) -> String {
    const OWN: [&str; 7] =
        ["ours", ADAPTIVE, "paper", "paper-no-reorder", "mptcp", "single-sum", SUM];
    let own = |row: &str| OWN.contains(&row) || is_path(row);
    if is_path(row) {
        "path".to_owned()
    } else if row == SUM {
        "sum".to_owned()
    } else if row == ADAPTIVE {
        "ours".to_owned()
    } else if own(row) {
        row.to_owned()
    } else {
        let mut others = grid.results.plan.rows.iter().filter(|row| !own(&row.name));
        let position = others.position(|other| other.name == row).unwrap_or(0);
        format!("other-{}", position % OTHERS)
    }
}

fn chart(
    grid: &Grid,
    axis: &Axis,
    positions: &Positions,
    cells: &[usize],
    place: String,
    panel: bool,
) -> Chart {
    let metric = grid.results.plan.metric.as_str();
    let x = |cell: usize| positions.of_value(grid.cells[cell].get(&axis.name)?);
    let mut lines = Vec::new();
    let mut push = |row: &str, label: &str, printed: bool, points: Vec<Option<Point>>| {
        if points.iter().any(Option::is_some) {
            let joined = positions.ordered;
            lines.push(Line {
                class: class(grid, row),
                label: label.into(),
                printed,
                joined,
                points,
            });
        }
    };
    let sums = cells
        .iter()
        .map(|&cell| Some(Point { x: x(cell)?, y: grid.sum_of_paths(cell, metric)?, range: None }));
    push(SUM, SUM, false, sums.collect());
    let together = adds_up(metric) && grid.path_rows().count() > 1;
    for row in &grid.results.plan.rows {
        // The rate of a single path is seen in the sum of the paths.
        if together && is_path(&row.name) {
            continue;
        }
        let printed = cells.iter().map(|&cell| {
            let (value, scale) = grid.published(cell, &row.name, metric)?;
            Some(Point { x: x(cell)?, y: value / scale, range: None })
        });
        push(&row.name, &format!("{}, in print", row.label), true, printed.collect());
        let measured = cells.iter().map(|&cell| match grid.figure(cell, &row.name, metric) {
            Figure::Sound { spread, .. } => {
                let range = (spread.count > 1).then_some((spread.min, spread.max));
                Some(Point { x: x(cell)?, y: spread.median, range })
            }
            _ => None,
        });
        push(&row.name, &row.label, false, measured.collect());
    }
    if !positions.ordered {
        spread_out(&mut lines);
    }
    let quantity = Quantity::of(metric);
    Chart {
        title: if place.is_empty() { grid.results.plan.title.clone() } else { place },
        x_label: positions.label(axis),
        y_label: quantity.heading(),
        ticks: positions.ticks.clone(),
        lines,
        style: Style::Lines,
        panel,
    }
}

/// Puts the points of different lines beside each other, where only points distinguish them.
fn spread_out(lines: &mut [Line]) {
    /// Width of the points of a position, as a part of the distance between two positions.
    const WIDTH: f64 = 0.4;
    let step = WIDTH / lines.len().max(1) as f64;
    let middle = (lines.len() as f64 - 1.0) / 2.0;
    for (index, line) in lines.iter_mut().enumerate() {
        for point in line.points.iter_mut().flatten() {
            point.x += (index as f64 - middle) * step;
        }
    }
}

/// The positions of the values of an axis.
#[derive(Debug)]
struct Positions {
    ticks: Vec<(f64, String)>,
    /// The values as in the file, in the order of `ticks`.
    values: Vec<String>,
    /// The unit that all values have.
    unit: String,
    /// True if the values are numbers, so that there is something between them.
    ordered: bool,
}

impl Positions {
    fn of(axis: &Axis) -> Self {
        let values = axis.values.clone();
        let parsed: Option<Vec<(f64, &str)>> = values.iter().map(|value| quantity(value)).collect();
        // A unit may be left out at 0.
        let unit = parsed.as_ref().and_then(|parsed| {
            let mut units =
                parsed.iter().filter(|(number, unit)| *number != 0.0 || !unit.is_empty());
            let unit = units.next().map_or("", |(_, unit)| unit).to_owned();
            units.all(|(_, its)| *its == unit).then_some(unit)
        });
        match (parsed, unit) {
            (Some(parsed), Some(unit)) => {
                let numbers: Vec<f64> = parsed.iter().map(|(number, _)| *number).collect();
                let even = is_even(&numbers);
                let ticks = numbers.iter().enumerate().map(|(index, &number)| {
                    (if even { number } else { index as f64 }, number.to_string())
                });
                Self { ticks: ticks.collect(), unit, ordered: true, values: values.clone() }
            }
            _ => {
                let ticks = values.iter().enumerate();
                let ticks = ticks.map(|(index, value)| (index as f64, value.clone())).collect();
                Self { ticks, unit: String::new(), ordered: false, values }
            }
        }
    }

    fn of_value(&self, value: &str) -> Option<f64> {
        let index = self.values.iter().position(|its| its == value)?;
        self.ticks.get(index).map(|tick| tick.0)
    }

    fn label(&self, axis: &Axis) -> String {
        if self.unit.is_empty() {
            axis.label.clone()
        } else {
            format!("{}, {}", axis.label, self.unit)
        }
    }
}

/// Splits a quantity: `50ms` is 50 and `ms`.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().ok()?;
    let unit = unit.trim();
    let is_unit = unit.chars().all(|letter| letter.is_alphabetic() || letter == '%');
    (number.is_finite() && is_unit).then_some((number, unit))
}

/// True if numbers ascend, and in steps that can be told from each other when drawn to scale.
fn is_even(numbers: &[f64]) -> bool {
    let steps: Vec<f64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let smallest = steps.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = steps.iter().copied().fold(0.0, f64::max);
    smallest > 0.0 && largest <= UNEVEN * smallest
}

/// Returns the first sound repetition.
fn sound<'a>(grid: &Grid<'a>, cell: usize, row: &str) -> Option<&'a CaseResult> {
    grid.at(cell, row).iter().find_map(|repetition| match repetition.outcome {
        Outcome::Sound(case) => Some(case),
        _ => None,
    })
}

/// Returns means of neighbours, so that there are no more points than can be seen; each is in the middle of its interval.
fn thinned(series: &Series) -> Vec<Point> {
    let together = series.values.len().div_ceil(TIME_POINTS).max(1);
    let chunks = series.values.chunks(together).enumerate();
    let points = chunks.map(|(index, chunk)| {
        let x = (index as f64 * together as f64 + chunk.len() as f64 / 2.0) * series.step;
        let y = chunk.iter().sum::<f64>() / chunk.len() as f64;
        Point { x, y, range: None }
    });
    points.collect()
}

/// Returns at most `most` of them, the first and the last included, at even distances.
fn evenly<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let count = all.len();
    if count <= most {
        return all;
    }
    let mut wanted = (0..most).map(|number| number * (count - 1) / (most - 1)).peekable();
    let chosen =
        all.into_iter().enumerate().filter(|(index, _)| wanted.next_if_eq(index).is_some());
    chosen.map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::samples::{Sample, delays};

    fn axis(values: &[&str]) -> Axis {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        Axis { name: "x".into(), label: "the axis".into(), values }
    }

    fn places(values: &[&str]) -> (Vec<f64>, String) {
        let axis = axis(values);
        let positions = Positions::of(&axis);
        (positions.ticks.iter().map(|tick| tick.0).collect(), positions.label(&axis))
    }

    #[test]
    fn numbers_stand_to_scale_and_words_side_by_side() {
        assert_eq!(places(&["0", "10ms", "50ms"]), (vec![0.0, 10.0, 50.0], "the axis, ms".into()));
        assert_eq!(places(&["25", "400", "10000"]), (vec![0.0, 1.0, 2.0], "the axis".into()));
        assert_eq!(places(&["1-1", "2-1"]), (vec![0.0, 1.0], "the axis".into()));
        assert_eq!(places(&["1ms", "1s"]), (vec![0.0, 1.0], "the axis".into()));
    }

    #[test]
    fn a_cell_that_is_no_result_is_a_gap() {
        let sample = delays();
        let charts = over_axis(&Grid::new(&sample.results));
        let [chart] = charts.as_slice() else { panic!("one axis is one chart") };
        let line = |label: &str| chart.lines.iter().find(|line| line.label == label).unwrap();
        let heights = |label: &str| -> Vec<Option<f64>> {
            line(label).points.iter().map(|point| point.map(|point| point.y)).collect()
        };
        assert_eq!(heights("row mptcp"), [Some(102.0), None, Some(102.0)]);
        assert_eq!(heights("row paper, in print"), [Some(103.5), Some(98.61), Some(52.65)]);
        assert_eq!(line("row ours").points[0].unwrap().range, Some((103.2, 103.5)));
        assert!(chart.lines.iter().all(|line| line.class != "path"), "their sum is enough");
    }

    #[test]
    fn long_series_become_means() {
        let values = (0..1000).map(f64::from).collect();
        let points = thinned(&Series { unit: String::new(), step: 0.1, values });
        assert!(points.len() <= TIME_POINTS);
        assert_eq!((points[0].x, points[0].y), (0.25, 2.0), "the mean of the first five");
        assert!(thinned(&Series { unit: String::new(), step: 1.0, values: Vec::new() }).is_empty());
    }

    #[test]
    fn series_of_paths_have_a_chart_for_each_row() {
        let mut sample = Sample::new("x").rows(&["adaptive", "mptcp"]);
        sample = sample.measured(&[], "adaptive", &[1.0]).measured(&[], "mptcp", &[1.0]);
        let tunnel = sample.results.plan.cases[0].spec.fingerprint();
        let case = sample.results.cases.get_mut(&tunnel).unwrap();
        let series = Series { unit: "Mbit/s".into(), step: 0.1, values: vec![1.0, 2.0] };
        for name in ["path rate/path1", "path rate/path2", "path queue/path1"] {
            case.series.insert(name.into(), series.clone());
        }
        let grid = Grid::new(&sample.results);
        let charts = over_time(&grid, "path rate");
        let [chart] = charts.as_slice() else { panic!("{} charts", charts.len()) };
        assert_eq!(
            (chart.title.as_str(), chart.y_label.as_str()),
            ("row adaptive", "path rate, Mbit/s")
        );
        let labels: Vec<&str> = chart.lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["path1", "path2"]);
        assert_eq!(over_time(&grid, "path queue")[0].lines.len(), 1);
        let [both] = &over_time(&grid, "goodput")[..] else { panic!("one chart of the cell") };
        let classes: Vec<&str> = both.lines.iter().map(|line| line.class.as_str()).collect();
        assert_eq!(classes, ["ours", "mptcp"]);
        assert!(over_time(&grid, "path").is_empty());
    }

    #[test]
    fn of_many_cells_some_are_drawn_over_time() {
        let names: Vec<String> = (0..40).map(|cell| cell.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut sample = Sample::new("x").axis("cell", &names).rows(&["ours"]);
        for name in &names {
            sample = sample.measured(&[("cell", name)], "ours", &[1.0]);
        }
        let charts = over_time(&Grid::new(&sample.results), "goodput");
        assert_eq!(charts.len(), TIME_CHARTS);
        assert_eq!(charts.first().unwrap().title, "cell 0");
        assert_eq!(charts.last().unwrap().title, "cell 39");
    }
}
