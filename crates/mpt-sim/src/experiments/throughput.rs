//! Figures 4 and 10: throughput over time, and of all combinations.

use std::time::Duration;

use crate::report::{Figure, Report, Series, Style, Table};
use crate::study::paper::{CELLS, COLUMNS, ROWS};
use crate::study::{
    Case, Outcome, PathPlan, Profile, control_name, in_parallel, median, treatment_name,
};
use crate::transport::congestion::Control;
use crate::transport::tcp::Treatment;

use super::{Experiment, Setting};

/// Seconds over which one point of figure 4 is the mean.
const STEP: f64 = 5.0;

/// Makes figure 4: (a) equal and constant delays, (b) any other.
pub(super) fn over_time(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let [near, far] = [10, 200].map(Duration::from_millis);
    let networks = [
        ("a", "10/10 ms, constant", [near, near].map(PathPlan::constant)),
        ("b", "10/200 ms, both fluctuate", [near, far].map(PathPlan::study)),
    ];
    let mut report = experiment.report(setting);
    report.seeds = 1;
    let mut cases = Vec::new();
    for profile in [Profile::Ns3, Profile::Rfc] {
        for (_, _, paths) in networks {
            cases.push(Case { paths, ..Case::study(profile, Treatment::None, Control::Reno, 0) });
        }
    }
    (setting.expect)(cases.len() as u64);
    let traces = in_parallel(&cases, rates, setting.progress);
    for ((case, trace), (part, name, _)) in cases.iter().zip(traces).zip(networks.iter().cycle()) {
        let profile = case.profile.name();
        let [first, second] = trace;
        let both = first.iter().zip(&second).map(|(a, b)| (a.0, a.1 + b.1)).collect();
        let series = [("SF-0", first), ("SF-1", second), ("both", both)];
        report.figures.push(Figure {
            name: format!("{}{part}-{profile}", experiment.name),
            title: format!("{profile}: acknowledged, {name}, NoPR, Un-CC"),
            x: "seconds".to_owned(),
            y: "Mbit/s".to_owned(),
            series: series
                .into_iter()
                .map(|(name, points)| Series { name: name.to_owned(), points })
                .collect(),
            style: Style::Lines,
            groups: Vec::new(),
        });
    }
    report
}

/// Returns what each subflow has acknowledged per second, over time.
fn rates(case: &Case) -> [Vec<(f64, f64)>; 2] {
    let mut points = [Vec::new(), Vec::new()];
    let mut before = [0; 2];
    let mut due = STEP;
    let mut record = |seconds: f64, acknowledged: [u64; 2]| {
        while seconds >= due {
            for path in 0..2 {
                let packets = acknowledged[path] - before[path];
                let rate = (packets * crate::transport::mptcp::MSS * 8) as f64 / STEP / 1e6;
                points[path].push((due - STEP / 2.0, rate));
            }
            before = acknowledged;
            due += STEP;
        }
    };
    match case.reproduction() {
        Some(run) if case.profile == Profile::Ns3 => {
            run.run_with(|now, sender| {
                record(now.as_secs_f64(), [0, 1].map(|path| sender.acknowledged(path)));
            });
        }
        _ => {
            case.standard().run_with(|now, sender| {
                record(
                    now.as_secs_f64(),
                    [0, 1].map(|path: usize| sender.subflows()[path].first()),
                );
            });
        }
    }
    points
}

/// Makes figure 10.
pub(super) fn bars(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let mut report = experiment.report(setting);
    let mut six = ROWS.to_vec();
    six.push(Treatment::RackTlp);
    for (profile, rows) in [(Profile::Ns3, &ROWS[..]), (Profile::Rfc, &six[..])] {
        let cases: Vec<Case> = COLUMNS
            .into_iter()
            .flat_map(|control| rows.iter().map(move |&row| Case::study(profile, row, control, 0)))
            .collect();
        let medians: Vec<f64> = experiment
            .run_all(setting, &cases)
            .iter()
            .map(|it| median(it.iter().flatten().map(Outcome::throughput)))
            .collect();
        let what = if profile == Profile::Ns3 { "gThroughput as logged" } else { "goodput" };
        let title = format!("{}: {what}, medians in Mbit/s", profile.name());
        let columns = COLUMNS.map(control_name);
        let mut table = Table::new(&title, [""].into_iter().chain(columns));
        for (index, &row) in rows.iter().enumerate() {
            let cells = (0..COLUMNS.len()).map(|column| {
                let found = format!("{:.2}", medians[column * rows.len() + index]);
                let paper =
                    CELLS.iter().find(|it| (it.treatment, it.control) == (row, COLUMNS[column]));
                match paper {
                    Some(cell) if profile == Profile::Ns3 => {
                        format!("{found} (paper {:.2})", cell.throughput)
                    }
                    _ => found,
                }
            });
            table.rows.push([treatment_name(row).to_owned()].into_iter().chain(cells).collect());
        }
        report.tables.push(table);
        report.figures.push(Figure {
            name: format!("{}-{}", experiment.name, profile.name()),
            title,
            x: String::new(),
            y: "Mbit/s".to_owned(),
            series: columns
                .iter()
                .zip(medians.chunks(rows.len()))
                .map(|(name, medians)| Series {
                    name: (*name).to_owned(),
                    points: medians.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect(),
                })
                .collect(),
            style: Style::Bars,
            groups: rows.iter().map(|&row| treatment_name(row).to_owned()).collect(),
        });
    }
    report
}
