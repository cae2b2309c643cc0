//! The goals of Multipath TCP (section II-B): never worse than the best path, no harm at a shared bottleneck, congestion
//! balanced, no flapping.

use std::ops::Range;
use std::time::Duration;

use mpt_link::{Bitrate, Redraw};

use crate::report::{Report, Table};
use crate::study::{Contest, Fluctuation, PathPlan, control_name, in_parallel, median};
use crate::transport::congestion::Control;
use crate::transport::mptcp::{Options, Scheduler};
use crate::transport::tcp::{Config, Treatment};

use super::{Experiment, Setting};

const CONTROLS: [Control; 6] = [
    Control::Reno,
    Control::Cubic,
    Control::FullyCoupled,
    Control::Lia,
    Control::Olia,
    Control::Balia,
];
/// Receive buffer in segments: as large as the paths of this experiment ever need.
const BUFFER: u64 = 20_000;

pub(super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let seeds = experiment.seeds(setting);
    let mut report = experiment.report(setting);
    (setting.expect)(seeds * (4 * CONTROLS.len() as u64 + 1) + 3 * seeds * CONTROLS.len() as u64);
    report.tables.push(best_path(seeds, setting));
    report.tables.push(no_harm(seeds, setting));
    report.tables.push(balance(seeds, setting));
    report.tables.push(flapping(seeds, setting));
    report.findings.push(
        "All of this is the profile rfc: the simulator of 2011 has no single-path connections to compete with. Its \
         own goal 1 is Table II: 0.50 Mbit/s of the best path, reached by all rows, exceeded by the treated ones."
            .to_owned(),
    );
    report
}

fn link(megabits: u64, delay: u64) -> PathPlan {
    let rate = Bitrate::from_megabits(megabits);
    let base = PathPlan::constant(Duration::from_millis(delay));
    PathPlan { rate: rate.unwrap_or(base.rate), ..base }
}

/// Returns a link that several connections share. A queue that drops the last arrival drops the flows that grow; among several flows that jitter,
/// each gets its share of the losses, as the models behind the controllers have it.
fn shared(megabits: u64) -> PathPlan {
    let fluctuation = Some(Fluctuation { share: 0.25, redraw: Redraw::EveryPacket });
    PathPlan { fluctuation, ..link(megabits, 20) }
}

fn times(count: usize, connection: (Options, Vec<usize>)) -> Vec<(Options, Vec<usize>)> {
    vec![connection; count]
}

fn multipath(control: Control) -> Options {
    let tcp = Config::standard(control, Treatment::RackTlp);
    Options { tcp, scheduler: Scheduler::MinRtt, receive_buffer: BUFFER, total: None }
}

fn contest(links: &[PathPlan], connections: Vec<(Options, Vec<usize>)>, seed: u64) -> Contest {
    Contest {
        links: links.to_vec(),
        connections,
        warm_up: Duration::from_secs(30),
        measured: Duration::from_secs(60),
        sample: Duration::from_secs(5),
        seed,
    }
}

/// Runs with every seed. Returns the median of a quantity of the rates by connection, by subflow and by sample.
fn measure(
    seeds: u64,
    setting: &Setting<'_>,
    links: &[PathPlan],
    connections: &[(Options, Vec<usize>)],
    of: impl Fn(&[Vec<Vec<f64>>]) -> f64,
) -> f64 {
    let contests: Vec<Contest> =
        (0..seeds).map(|seed| contest(links, connections.to_vec(), seed)).collect();
    median(in_parallel(&contests, Contest::run, setting.progress).iter().map(|rates| of(rates)))
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

fn of_connection(rates: &[Vec<Vec<f64>>], connection: usize) -> f64 {
    rates[connection].iter().map(|samples| mean(samples)).sum()
}

fn best_path(seeds: u64, setting: &Setting<'_>) -> Table {
    let networks = [
        ("10 + 10 Mbit/s, 10 + 10 ms", [link(10, 10), link(10, 10)]),
        ("10 + 10 Mbit/s, 10 + 100 ms", [link(10, 10), link(10, 100)]),
        ("10 + 1 Mbit/s, 10 + 10 ms", [link(10, 10), link(1, 10)]),
        ("10 + 1 Mbit/s, 10 + 100 ms", [link(10, 10), link(1, 100)]),
    ];
    let heading =
        ["Mbit/s of both paths; best path alone"].into_iter().chain(CONTROLS.map(control_name));
    let mut table =
        Table::new("1. At least the best path (Reno alone on 10 Mbit/s, 10 ms)", heading);
    let alone = [(multipath(Control::Reno), vec![0])];
    let alone = measure(seeds, setting, &[link(10, 10)], &alone, |rates| of_connection(rates, 0));
    for (name, links) in networks {
        let cells = CONTROLS.map(|control| {
            let both = [(multipath(control), vec![0, 1])];
            format!(
                "{:.2}",
                measure(seeds, setting, &links, &both, |rates| of_connection(rates, 0))
            )
        });
        table.rows.push([format!("{name}; {alone:.2}")].into_iter().chain(cells).collect());
    }
    table
}

fn no_harm(seeds: u64, setting: &Setting<'_>) -> Table {
    let heading = ["25 Mbit/s, 20 ms"].into_iter().chain(CONTROLS.map(control_name));
    let title = "2. No harm: five connections of two subflows each beside five single-path ones (cubic beside cubic, \
                 else Reno) at one link; equals would leave 50 %";
    let mut table = Table::new(title, heading);
    let cells = CONTROLS.map(|control| {
        let single = if control == Control::Cubic { Control::Cubic } else { Control::Reno };
        let mut flows = times(5, (multipath(control), vec![0, 0]));
        flows.extend(times(5, (multipath(single), vec![0])));
        let share = measure(seeds, setting, &[shared(25)], &flows, |rates| {
            let of = |range: Range<usize>| range.map(|it| of_connection(rates, it)).sum::<f64>();
            100.0 * of(5..10) / of(0..10)
        });
        format!("{share:.0} %")
    });
    table.rows.push(["left to the others".to_owned()].into_iter().chain(cells).collect());
    table
}

fn balance(seeds: u64, setting: &Setting<'_>) -> Table {
    let heading = ["10 + 10 Mbit/s, 20 ms"].into_iter().chain(CONTROLS.map(control_name));
    let title =
        "3. Balanced congestion: link A shared with six single-path connections, link B with two";
    let mut table = Table::new(title, heading);
    let cells = CONTROLS.map(|control| {
        let mut flows = vec![(multipath(control), vec![0, 1])];
        flows.extend(times(6, (multipath(Control::Reno), vec![0])));
        flows.extend(times(2, (multipath(Control::Reno), vec![1])));
        let share = measure(seeds, setting, &[shared(10), shared(10)], &flows, |rates| {
            100.0 * mean(&rates[0][1]) / of_connection(rates, 0)
        });
        format!("{share:.0} %")
    });
    table.rows.push(["share of its traffic on B".to_owned()].into_iter().chain(cells).collect());
    table
}

fn flapping(seeds: u64, setting: &Setting<'_>) -> Table {
    let heading = ["10 + 10 Mbit/s, 20 ms"].into_iter().chain(CONTROLS.map(control_name));
    let title = "4. No flapping: each link shared with two single-path connections; standard deviation of link A's \
                 share over samples of 5 s";
    let mut table = Table::new(title, heading);
    let cells = CONTROLS.map(|control| {
        let mut flows = vec![(multipath(control), vec![0, 1])];
        flows.extend(times(2, (multipath(Control::Reno), vec![0])));
        flows.extend(times(2, (multipath(Control::Reno), vec![1])));
        let deviation = measure(seeds, setting, &[shared(10), shared(10)], &flows, |rates| {
            let pairs = rates[0][0].iter().zip(&rates[0][1]);
            let shares: Vec<f64> = pairs.map(|(a, b)| a / (a + b).max(f64::MIN_POSITIVE)).collect();
            let centre = mean(&shares);
            let squares: Vec<f64> =
                shares.iter().map(|share| (share - centre) * (share - centre)).collect();
            100.0 * libm::sqrt(mean(&squares))
        });
        format!("{deviation:.0} pp")
    });
    table.rows.push(["deviation of A's share".to_owned()].into_iter().chain(cells).collect());
    table
}
