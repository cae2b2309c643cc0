//! The advice of `mpt_core::advise`, and the papers' rules, on paths of many kinds.

use std::time::Duration;

use mpt_core::advise;

use crate::report::{Report, Table};
use crate::study::median;
use crate::tunnel::{Case, Outcome, Path, Profile};

use super::super::{Experiment, Setting};
use super::grid::run_all;

/// Paths: rate in Mbit/s, delay and its deviation in ms.
type Network = &'static [(u16, u64, u64)];

const NETWORKS: [(&str, Network); 8] = [
    ("100 + 100, 0/0 ms", &[(100, 0, 0), (100, 0, 0)]),
    ("100 + 10, 5/25 ms", &[(100, 5, 0), (10, 25, 0)]),
    ("100 + 50, 5/55 ms", &[(100, 5, 0), (50, 55, 0)]),
    ("50 + 50, 20/100 ms", &[(50, 20, 0), (50, 100, 0)]),
    ("20 + 5, 15/40 ms", &[(20, 15, 0), (5, 40, 0)]),
    ("50 + 50, 20/20 ms, jitter 2", &[(50, 20, 2), (50, 20, 2)]),
    ("50 + 20, 10/30 ms, jitter 1/3", &[(50, 10, 1), (20, 30, 3)]),
    ("three: 50 + 20 + 10, 5/20/50 ms", &[(50, 5, 0), (20, 20, 0), (10, 50, 0)]),
];
const DURATION: Duration = Duration::from_secs(30);
const SETTLED_FROM: Duration = Duration::from_secs(18);

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let mut report = experiment.report(setting);
    for profile in [Profile::Paper, Profile::Ours] {
        let cases: Vec<Case> =
            NETWORKS.iter().flat_map(|(_, network)| cases(profile, network)).collect();
        let outcomes = run_all(experiment, setting, &cases);
        let title = format!(
            "{}: window and maximum delay; Mbit/s from 18 to 30 s; wait p99. Few: three round-trip times of the slowest path",
            profile.name()
        );
        let heading =
            ["", "capacity", "advice", "half of its window", "300 ms, line rate", "few, line rate"];
        let mut table = Table::new(&title, heading);
        let rows = NETWORKS.iter().zip(cases.chunks(4)).zip(outcomes.chunks(4));
        for (((name, _), cases), outcomes) in rows {
            let capacity = outcomes[0].first().map_or(0.0, |it| it.capacity);
            let cells = cases.iter().zip(outcomes).map(|(case, outcomes)| cell(case, outcomes));
            let row = [(*name).to_owned(), format!("{capacity:.1}")].into_iter().chain(cells);
            table.rows.push(row.collect());
        }
        report.tables.push(table);
    }
    report
}

/// Returns the cases of a network: with the window of the advice, with half of it, and with the papers' rules for the window with the usual maximum
/// delay and with that of the rule of thumb.
fn cases(profile: Profile, network: Network) -> [Case; 4] {
    let path = |&(rate, delay, jitter): &(u16, u64, u64)| Path {
        jitter: Duration::from_millis(jitter),
        ..Path::new(rate, Duration::from_millis(delay))
    };
    let paths: Vec<Path> = network.iter().map(path).collect();
    let known: Vec<advise::Path> = paths.iter().map(Path::known).collect();
    let usual = Duration::from_millis(300);
    let few = advise::round_trip_rule(&known);
    let line_rate = |delay| advise::line_rate_rule(&known, delay).min(u16::MAX.into()) as u16;
    let (window, max_delay) = advise::advise(&known)
        .map_or((u16::MAX, usual), |advice| (advice.window, advice.max_delay));
    let settings = [
        (window, max_delay),
        (window / 2, max_delay),
        (line_rate(usual), usual),
        (line_rate(few), few),
    ];
    settings.map(|(window, max_delay)| {
        let mut case = Case::new(profile, paths.clone(), 0);
        (case.duration, case.settled_from) = (DURATION, SETTLED_FROM);
        (case.reorder.window, case.reorder.max_delay) = (Some(window), Some(max_delay));
        case
    })
}

fn cell(case: &Case, outcomes: &[Outcome]) -> String {
    let middle = |of: fn(&Outcome) -> f64| median(outcomes.iter().map(of));
    format!(
        "{} {} ms: {:.1}; {:.0} ms",
        case.reorder.window(),
        case.reorder.max_delay().as_millis(),
        middle(|it| it.settled),
        middle(|it| it.wait_p99_ms)
    )
}
