//! A call over two paths that lose packets: its losses, the overhead of protection, and the delay that it adds.

use std::time::Duration;

use mpt_core::{FecCounters, Mapping, Repair};
use mpt_link::Probability;
use mpt_report::statistics::percentile;

use crate::report::{Report, Table};
use crate::tunnel::{HEADERS, Path, Record, Scene, StreamPlan, TunnelPlan, Via, WARM_UP};

use super::super::{Experiment, Setting};
use super::runs::{self, Runs, is_chosen, mean, seeds};

/// The networks: the loss of each of two paths of 10 Mbit/s and 20 ms.
pub(in super::super) const NAMES: [&str; 3] = ["loss_05", "loss_2", "loss_8"];
const LOSSES: [f64; 3] = [0.005, 0.02, 0.08];
/// The network on which the demands are made.
const JUDGED: &str = "loss_2";

/// Time between two packets of a call: 200 packets of 200 bytes per second, each way.
const INTERVAL: Duration = Duration::from_millis(5);
const SIZE: u64 = 200;
const DURATION: Duration = Duration::from_secs(60);
/// Interval over which packets count, from and to, in seconds.
const FROM: f64 = 5.0;
const TO: f64 = 59.0;

/// Limits for protection. In the order of the constants: the remaining loss and the overhead, both in percent, and the delay that it adds for 99 % of
/// the packets, in milliseconds.
const MOST_LOST: f64 = 0.1;
const MOST_BYTES: f64 = 40.0;
const MOST_DELAY: f64 = 10.0;

/// Delay above the median from which a packet is of no use to a call, in milliseconds.
const LATE: f64 = 20.0;

/// The way in which a call is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The paths lose nothing.
    Clean,
    /// Losses are neither repaired nor protected against.
    Bare,
    /// Lost packets are sent again.
    Repaired,
    /// Symbols follow the packets, and nothing is sent again.
    Protected,
    /// Lost packets are sent again, and symbols follow the packets.
    Both,
    /// Every packet travels over both paths.
    Duplicate,
}

const WAYS: [Way; 6] =
    [Way::Clean, Way::Bare, Way::Repaired, Way::Protected, Way::Both, Way::Duplicate];

impl Way {
    const fn name(self) -> &'static str {
        match self {
            Self::Clean => "no loss",
            Self::Bare => "nothing",
            Self::Repaired => "repair",
            Self::Protected => "correction",
            Self::Both => "repair and correction",
            Self::Duplicate => "duplicate",
        }
    }

    const fn protects(self) -> bool {
        matches!(self, Self::Protected | Self::Both)
    }
}

type Case = (usize, Way);

/// The result of a call.
struct Measured {
    /// The share of packets that did not arrive, in percent.
    lost: f64,
    /// The share of packets that did not arrive within 20 ms more than the median, in percent.
    missed: f64,
    /// Delays in milliseconds.
    p50: f64,
    p99: f64,
    /// Bytes on the links for each byte of the datagrams of the call.
    bytes: f64,
    /// Symbols that were sent, packets that were restored, and those of them that came by themselves.
    symbols: f64,
    recovered: f64,
    early: f64,
}

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let seeds = seeds(experiment, setting);
    let networks = (0..NAMES.len()).filter(|&network| is_chosen(setting, NAMES[network]));
    let cases: Vec<(Case, u64)> =
        networks.flat_map(|network| WAYS.map(|way| ((network, way), seeds))).collect();
    let runs: Runs<Measured> = runs::run(setting, &cases, scene, |_, record| Measured::of(record));
    let mut report = experiment.report(setting);
    let title = "200 packets of 200 bytes per second, each way";
    let heading = [
        "",
        "",
        "lost",
        "lost or 20 ms late",
        "delay p50 / p99",
        "bytes sent / of the call",
        "symbols",
        "restored",
        "in vain",
    ];
    let mut table = Table::new(title, heading);
    for (group, cells) in cases.chunks(WAYS.len()).zip(runs.cases.chunks(WAYS.len())) {
        let of = |way: Way, of: fn(&Measured) -> f64| {
            let at = WAYS.iter().position(|it| *it == way);
            at.map_or(f64::NAN, |at| mean(&cells[at], of))
        };
        for (&((network, way), _), cell) in group.iter().zip(cells) {
            table.rows.push(vec![
                NAMES[network].to_owned(),
                way.name().to_owned(),
                format!("{:.4} %", mean(cell, |it| it.lost)),
                format!("{:.4} %", mean(cell, |it| it.missed)),
                format!("{:.1} / {:.1} ms", mean(cell, |it| it.p50), mean(cell, |it| it.p99)),
                format!("{:.3}", mean(cell, |it| it.bytes)),
                format!("{:.0}", mean(cell, |it| it.symbols)),
                format!("{:.0}", mean(cell, |it| it.recovered)),
                format!("{:.0}", mean(cell, |it| it.early)),
            ]);
            if NAMES[network] == JUDGED && way.protects() {
                let late = mean(cell, |it| it.p99) - of(Way::Clean, |it| it.p99);
                let lost = mean(cell, |it| it.lost);
                let name = way.name();
                // Repairs, and the frames of the ends for them, are not counted.
                let without = if way == Way::Both { Way::Repaired } else { Way::Bare };
                let symbols = 100.0 * (mean(cell, |it| it.bytes) - of(without, |it| it.bytes));
                let due = [
                    (lost, MOST_LOST, "% are lost"),
                    (symbols, MOST_BYTES, "% more bytes are sent"),
                    (late, MOST_DELAY, "ms are added to the delay of 99 %"),
                ];
                for (is, most, what) in due {
                    if is > most {
                        let miss =
                            format!("{JUDGED}, {name}: {is:.3} {what}, at most {most} are due");
                        report.misses.push(miss);
                    }
                }
            }
        }
    }
    report.tables.push(table);
    report.traces = runs.traces;
    report
}

fn scene(&(network, way): &Case, seed: u64) -> Scene {
    let loss = if way == Way::Clean { 0.0 } else { LOSSES[network] };
    let path = || Path {
        loss: Probability::new(loss).unwrap_or(Probability::ZERO).into(),
        ..Path::new(10, Duration::from_millis(20))
    };
    let mapping = if way == Way::Duplicate { Mapping::Duplicate } else { Mapping::Adaptive };
    let repairs = matches!(way, Way::Clean | Way::Repaired | Way::Both);
    let tunnel = TunnelPlan {
        mapping,
        repair: if repairs { Repair::Auto } else { Repair::Off },
        ..TunnelPlan::adaptive(2)
    };
    let (via, size, interval) = (Via::Tunnel(0), SIZE, INTERVAL);
    Scene {
        links: vec![path(), path()],
        tunnels: vec![tunnel],
        flows: Vec::new(),
        echoes: Vec::new(),
        streams: vec![StreamPlan { via, size, interval, protected: way.protects() }],
        changes: Vec::new(),
        warm_up: WARM_UP,
        duration: DURATION,
        seed,
    }
}

impl Measured {
    fn of(record: &Record) -> Self {
        let sent =
            || record.streams.iter().flatten().flatten().filter(|it| (FROM..TO).contains(&it.at));
        let mut times: Vec<f64> = sent().filter_map(|it| it.took_ms).collect();
        times.sort_by(f64::total_cmp);
        let count = sent().count() as f64;
        let p50 = percentile(&times, 50.0);
        let in_time = times.iter().filter(|&&time| time <= p50 + LATE).count();
        let offered = record.offered();
        let sum = |of: fn(&FecCounters) -> u64| -> f64 {
            record.corrected.iter().flatten().map(|it| of(it) as f64).sum()
        };
        let packets: usize = record.streams.iter().flatten().map(Vec::len).sum();
        Self {
            lost: 100.0 * (count - times.len() as f64) / count,
            missed: 100.0 * (count - in_time as f64) / count,
            p50,
            p99: percentile(&times, 99.0),
            bytes: offered as f64 / (packets as u64 * (SIZE + HEADERS.0)) as f64,
            symbols: sum(|it| it.fec_symbols_sent),
            recovered: sum(|it| it.fec_recovered),
            early: sum(|it| it.fec_recovered_early),
        }
    }
}
