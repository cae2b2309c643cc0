//! Rates that change: 100 + 100 Mbit/s, of which the second path falls to 30 for five seconds.

use std::time::Duration;

use mpt_link::{Bitrate, Change};
use mpt_report::statistics::percentile;

use crate::report::{Report, Table};
use crate::tunnel::{Path, Record};

use super::super::{Experiment, Setting};
use super::method::Method;
use super::runs::{self, mean, seeds};

/// Rates in Mbit/s: of both paths, and of the second one between the steps.
const FAST: u16 = 100;
const SLOW: u16 = 30;
const DELAY: Duration = Duration::from_millis(20);
/// Times of the steps: the second path slows down, and is fast again.
const DOWN: Duration = Duration::from_secs(5);
const UP: Duration = Duration::from_secs(10);
const DURATION: Duration = Duration::from_secs(18);
/// Time in seconds from which the flow counts as settled.
const SETTLED: f64 = 3.0;
/// Share of a rate that is payload.
const PAYLOAD: f64 = 0.935;
/// Share of the new rate from which it counts as reached.
const REACHED: f64 = 0.9;
/// Interval over which a rate is averaged, in seconds.
const WINDOW: f64 = 0.5;
/// Time for which the new rate has to be held, in seconds.
const HELD: f64 = 3.0;

/// The only part.
pub(in super::super) const NAMES: [&str; 1] = ["step"];

/// The result of a run.
struct Measured {
    /// Goodput in Mbit/s before the first step, while the path is slow, and after the second step; from a second after each step on.
    goodput: [f64; 3],
    /// Seconds after which nine tenths of the new rate are reached and held.
    down: Option<f64>,
    up: Option<f64>,
    /// Round-trip times of ping in ms: median without load; median and 95 % from the first step on.
    unloaded: f64,
    p50: f64,
    p95: f64,
    retransmissions: u64,
}

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let methods = Method::chosen_tunnels(setting.methods);
    let seeds = seeds(experiment, setting);
    let cases: Vec<(Method, u64)> = methods.iter().map(|&method| (method, seeds)).collect();
    let links = || vec![Path::new(FAST, DELAY); 2];
    let scene = |method: &Method, seed| {
        let mut scene = method.scene(links(), DURATION, seed);
        let rate = |rate: u16| Change::Rate(Bitrate::from_megabits(rate.into()));
        scene.changes = vec![(DOWN, 1, rate(SLOW)), (UP, 1, rate(FAST))];
        scene
    };
    let runs = runs::run(setting, &cases, scene, |_, record| Measured::of(record));
    let mut report = experiment.report(setting);
    let heading = [
        "",
        "before",
        "while 30",
        "after",
        "s to 90 % down",
        "s to 90 % up",
        "ping p50 / p95 (unloaded)",
        "sent again",
    ];
    let title =
        "100 + 100 Mbit/s, 20 ms; the second path has 30 from 5 to 10 s: Mbit/s, mean of the seeds";
    let mut table = Table::new(title, heading);
    for (method, cell) in methods.iter().zip(&runs.cases) {
        let rates = [0, 1, 2].map(|part| format!("{:.1}", mean(cell, |it| it.goodput[part])));
        let ping = format!(
            "{:.0} / {:.0} ({:.0})",
            mean(cell, |it| it.p50),
            mean(cell, |it| it.p95),
            mean(cell, |it| it.unloaded)
        );
        let again = format!("{:.0}", mean(cell, |it| it.retransmissions as f64));
        let times = [slowest(cell, |it| it.down), slowest(cell, |it| it.up)];
        let row = [method.name().to_owned()].into_iter().chain(rates).chain(times);
        table.rows.push(row.chain([ping, again]).collect());
    }
    report.tables.push(table);
    report.findings.push(format!(
        "Limits are {:.0} and {:.0} Mbit/s. The times are those of the slowest seed.",
        limit(FAST),
        limit(SLOW)
    ));
    report.traces = runs.traces;
    report
}

/// Returns the longest time over the seeds.
fn slowest(cell: &[Measured], of: impl Fn(&Measured) -> Option<f64>) -> String {
    let longest = cell.iter().map(of).try_fold(0.0, |longest: f64, it| Some(longest.max(it?)));
    longest.map_or_else(|| "never".to_owned(), |seconds| format!("{seconds:.2}"))
}

/// Returns what both paths carry of payload while the second one has this rate.
fn limit(second: u16) -> f64 {
    PAYLOAD * f64::from(FAST + second)
}

impl Measured {
    fn of(record: &Record) -> Self {
        let (down, up, end) = (DOWN.as_secs_f64(), UP.as_secs_f64(), DURATION.as_secs_f64());
        let loaded = record.trips(0, down, end);
        Self {
            goodput: [
                record.goodput(0, SETTLED, down),
                record.goodput(0, down + 1.0, up),
                record.goodput(0, up + 1.0, end),
            ],
            down: reached(record, down, up, limit(SLOW)),
            up: reached(record, up, end, limit(FAST)),
            unloaded: percentile(&record.trips(0, f64::MIN, 0.0), 50.0),
            p50: percentile(&loaded, 50.0),
            p95: percentile(&loaded, 95.0),
            retransmissions: record.flows.iter().map(|flow| flow.retransmitted).sum(),
        }
    }
}

/// Returns the seconds from `from` on after which the flow has nine tenths of `limit` in each half second of the next three, as long as these end by
/// `to`.
fn reached(record: &Record, from: f64, to: f64, limit: f64) -> Option<f64> {
    /// Time between the beginnings of windows, in seconds.
    const GRID: f64 = 0.02;
    let windows = |from: f64, to: f64| {
        let count = libm::round((to - WINDOW - from) / GRID) as u32;
        (0..=count).map(move |index| from + f64::from(index) * GRID)
    };
    let enough = |at: f64| record.goodput(0, at, at + WINDOW) >= REACHED * limit;
    windows(from, to - HELD + WINDOW)
        .find(|&begin| windows(begin, begin + HELD).all(enough))
        .map(|begin| begin - from)
}
