//! Remarks below a table, which a reader needs to read it rightly: how long was measured, what a share above 100 % means, and where one path
//! alone carries more than the tunnel over all of them.

use std::collections::BTreeSet;
use std::time::Duration;

use super::count;
use crate::experiments::case::{Method, Traffic};
use crate::experiments::report::figure::Grid;
use crate::experiments::report::quantity::{Quantity, adds_up};

/// Returns what a figure of the experiment is made of: `median of 3 repetitions, TCP for 30s`.
pub(crate) fn basis(grid: &Grid) -> String {
    let traffic: BTreeSet<String> =
        grid.results.plan.cases.iter().map(|case| extent(&case.spec.traffic)).collect();
    let traffic = traffic.into_iter().collect::<Vec<_>>().join(" or ");
    let repetitions = count(grid.repetitions, "repetition");
    match grid.repetitions {
        0 | 1 => format!("{repetitions}, {traffic}"),
        _ => format!("median of {repetitions}, {traffic}"),
    }
}

/// Returns the kind of traffic and how much of it one measurement sends.
fn extent(traffic: &Traffic) -> String {
    let time = |duration: &Duration| humantime::format_duration(*duration).to_string();
    match traffic {
        Traffic::Tcp { flows: 1, duration, .. } => format!("one TCP flow for {}", time(duration)),
        Traffic::Tcp { flows, duration, .. } => format!("{flows} TCP flows for {}", time(duration)),
        Traffic::Udp { duration, .. } => format!("UDP for {}", time(duration)),
        Traffic::Rtp { duration, .. } => format!("a datagram stream for {}", time(duration)),
        Traffic::Ping { count: pings, interval } => {
            format!("{} every {}", count(*pings as usize, "ping"), time(interval))
        }
        Traffic::Download { bytes, limit, .. } => {
            format!("a download of {} MB, given up after {}", *bytes as f64 / 1e6, time(limit))
        }
    }
}

/// Returns the remarks on the table of one metric, each a sentence.
pub(crate) fn of(grid: &Grid, metric: &str) -> Vec<String> {
    if !adds_up(metric) {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    let rows = || grid.results.plan.rows.iter().map(|row| row.name.as_str());
    let above = (0..grid.cells.len())
        .flat_map(|cell| rows().map(move |row| (cell, row)))
        .any(|(cell, row)| grid.efficiency(cell, row, metric).is_some_and(|share| share > 1.0));
    if above {
        remarks.push(
            "A share above 100 % means that TCP over the paths alone does not fill them: the shares are of what it reached there, not of what \
             the links carry."
                .to_owned(),
        );
    }
    remarks.extend(beaten(grid, metric));
    remarks
}

/// Returns the cells in which the best path alone carries more than a tunnel of mpt over all paths.
fn beaten(grid: &Grid, metric: &str) -> Option<String> {
    let quantity = Quantity::of(metric);
    let mut places = Vec::new();
    for cell in 0..grid.cells.len() {
        let best = grid
            .path_rows()
            .filter_map(|path| Some((path, grid.figure(cell, path, metric).median()?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((path, best)) = best else { continue };
        for row in &grid.results.plan.rows {
            let tunnel = grid.at(cell, &row.name).first();
            let is_tunnel = tunnel.is_some_and(|it| matches!(it.spec.method, Method::Tunnel(_)));
            let figure = grid.figure(cell, &row.name, metric).median();
            let Some(figure) = figure.filter(|&figure| is_tunnel && figure < best) else {
                continue;
            };
            let [figure, best] = [figure, best].map(|value| quantity.number(value));
            let name = grid.name(cell);
            let place = if name.is_empty() { String::new() } else { format!(", {name}") };
            places.push(format!("{}{place} ({figure}; {path}: {best})", row.name));
        }
    }
    let cells = count(places.len(), "case");
    (!places.is_empty()).then(|| {
        format!(
            "The best path alone carries more than the tunnel in {cells}: {}.",
            places.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::samples::{Sample, delays};

    #[test]
    fn a_cell_in_which_one_path_does_better_is_named() {
        let mut sample =
            Sample::new("x").axis("delay", &["1ms", "9ms"]).rows(&["path1", "path2", "ours"]);
        for (delay, ours) in [("1ms", 99.0), ("9ms", 80.0)] {
            let at = [("delay", delay)];
            sample = sample.measured(&at, "path1", &[10.0]).measured(&at, "path2", &[90.0]);
            sample = sample.measured(&at, "ours", &[ours]);
        }
        let remarks = of(&Grid::new(&sample.results), "goodput_mbit");
        assert_eq!(
            remarks,
            [
                "The best path alone carries more than the tunnel in 1 case: ours, delay 9ms (80.00; path2: 90.00)."
            ]
        );
    }

    #[test]
    fn a_share_above_all_is_explained() {
        let sample =
            Sample::new("x").rows(&["path1", "path2", "ours"]).measured(&[], "path1", &[10.0]);
        let sample = sample.measured(&[], "path2", &[90.0]).measured(&[], "ours", &[101.0]);
        let remarks = of(&Grid::new(&sample.results), "goodput_mbit");
        assert!(remarks[0].starts_with("A share above 100 %"), "{remarks:?}");
        assert_eq!(of(&Grid::new(&sample.results), "retransmissions"), [""; 0]);
    }

    #[test]
    fn the_basis_is_that_of_the_plan() {
        let sample = delays();
        let basis = basis(&Grid::new(&sample.results));
        assert_eq!(basis, "median of 3 repetitions, 1 ping every 10ms");
    }
}
