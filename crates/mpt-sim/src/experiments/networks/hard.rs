//! One flow over links that change, or that are built otherwise than a queue of 100 ms in front of a wire.

use std::time::Duration;

use mpt_link::{Bitrate, Change, Redraw};

use crate::kernel::random::Stream;
use crate::report::Report;
use crate::tunnel::{Path, Record, Scene};

use super::super::{Experiment, Setting};
use super::list;
use super::method::Method;
use super::one_flow::{Measured, Row, Span, tables};
use super::runs::{self, is_chosen, seeds};

/// The property that makes the links special.
#[derive(Clone, Copy)]
enum Twist {
    /// The delay wanders: its random part holds for 100 ms, and packets stay in order.
    Wander,
    /// The longest wait in the queue, in milliseconds.
    Queue(u64),
    /// The queue serves flows in turns and keeps each of them short (FQ-CoDel).
    FairQueue,
    /// The queue is FQ-CoDel, with a flow whose segments can be marked.
    FairQueueAndMarks,
    /// Packets that wait longer than 5 ms are marked, with a flow whose segments can be marked; others are dropped.
    Marks,
    /// Every 100 ms each link has another rate, from 60 to 140 % of its own.
    Jumps,
    /// Packets leave only at the end of each millisecond, as by the grants of an LTE cell.
    Slots,
    /// Every 15 s, first at 5 s, the second link changes its delay (by up to 15 ms) and its rate (to 50 to 150 % of its own), as satellites change.
    Handovers,
    /// The way back, of the acknowledgements, carries a fiftieth of the way there, as DSL and cable do.
    SlowBack,
}

/// Links that are special.
struct Hard {
    name: &'static str,
    /// The name of the one of the thirteen networks whose links are changed.
    network: &'static str,
    twist: Twist,
}

const fn hard(name: &'static str, network: &'static str, twist: Twist) -> Hard {
    Hard { name, network, twist }
}

/// All networks with special links.
static ALL: [Hard; 13] = [
    hard("wander_5", "jit_5", Twist::Wander),
    hard("wander_20", "jit_20", Twist::Wander),
    hard("wander_starlink", "lte_starlink", Twist::Wander),
    hard("queue_5", "baseline", Twist::Queue(5)),
    hard("queue_10", "baseline", Twist::Queue(10)),
    hard("queue_20", "baseline", Twist::Queue(20)),
    hard("fq_codel", "baseline", Twist::FairQueue),
    hard("fq_codel_ecn", "baseline", Twist::FairQueueAndMarks),
    hard("marks_5", "baseline", Twist::Marks),
    hard("jumps", "baseline", Twist::Jumps),
    hard("slots", "baseline", Twist::Slots),
    hard("handovers", "bw_4to1", Twist::Handovers),
    hard("slow_back", "baseline", Twist::SlowBack),
];

/// Their names.
pub(in super::super) const NAMES: [&str; 13] = {
    let mut names = [""; 13];
    let mut index = 0;
    while index < names.len() {
        names[index] = ALL[index].name;
        index += 1;
    }
    names
};

/// Time between two jumps, and between two values of a delay that wanders.
pub(super) const OFTEN: Duration = Duration::from_millis(100);
/// Length of a slot: one millisecond, the transmission time interval of LTE (3GPP TS 36.211).
pub(super) const SLOT: Duration = Duration::from_millis(1);
/// Time between two handovers: Starlink assigns satellites anew every 15 s (arXiv 2310.09242).
const HANDOVERS: Duration = Duration::from_secs(15);
const FIRST_HANDOVER: Duration = Duration::from_secs(5);
/// Largest change of a delay at a handover, up or down.
const HANDOVER_DELAY: Duration = Duration::from_millis(15);
/// The wait above which packets are marked.
const MARK_ABOVE: Duration = Duration::from_millis(5);
/// The rate of a link in parts of that of its way back where that is slow.
const BACK: u64 = 50;
/// Component of the seed that the changes come from.
const COMPONENT: u64 = 1 << 40;

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let methods = Method::chosen(setting.methods);
    let chosen = ALL.iter().filter(|hard| is_chosen(setting, hard.name));
    let chosen: Vec<&'static Hard> = chosen.collect();
    let seeds = seeds(experiment, setting);
    let of_links =
        |&hard: &&'static Hard| methods.iter().map(move |&method| ((hard, method), seeds));
    let cases: Vec<((&Hard, Method), u64)> = chosen.iter().flat_map(of_links).collect();
    let scene = |&(hard, method): &(&Hard, Method), seed| {
        let mut scene = method.scene(hard.links(), Span::USUAL.duration, seed);
        scene.changes = changes(&scene, hard.twist);
        let marks = matches!(hard.twist, Twist::Marks | Twist::FairQueueAndMarks);
        scene.flows.iter_mut().for_each(|flow| flow.tcp.ecn = marks);
        scene
    };
    let measure = |_: &_, record: &Record| Measured::of(record, Span::USUAL);
    let runs = runs::run(setting, &cases, scene, measure);
    let mut report = experiment.report(setting);
    let mut rest = runs.cases.into_iter();
    let row = |hard: &&'static Hard| Row {
        name: hard.name,
        limit: list::find(hard.network).map_or(f64::NAN, list::Network::limit),
        must: None,
        cells: methods.iter().copied().zip(rest.by_ref().take(methods.len())).collect(),
    };
    let rows: Vec<Row> = chosen.iter().map(row).collect();
    report.tables = tables(&methods, &rows);
    report.traces = runs.traces;
    report
}

impl Hard {
    fn links(&self) -> Vec<Path> {
        let mut links = list::find(self.network).map(list::Network::links).unwrap_or_default();
        for link in &mut links {
            match self.twist {
                Twist::Wander => link.redraw = Redraw::Every(OFTEN),
                Twist::Queue(milliseconds) => link.queue = Duration::from_millis(milliseconds),
                Twist::FairQueue | Twist::FairQueueAndMarks => link.fair = true,
                Twist::Marks => link.mark_above = Some(MARK_ABOVE),
                Twist::Slots => link.slot = SLOT,
                Twist::SlowBack => link.back = Bitrate::new(link.rate.bits_per_second() / BACK),
                Twist::Jumps | Twist::Handovers => {}
            }
        }
        links
    }
}

/// Returns what happens to the links, the same for every method.
fn changes(scene: &Scene, twist: Twist) -> Vec<(Duration, usize, Change)> {
    let mut random = Stream::new(scene.seed, COMPONENT);
    let mut changes = Vec::new();
    match twist {
        Twist::Jumps => {
            for time in times(Duration::ZERO, OFTEN, scene.duration) {
                for (link, path) in scene.links.iter().enumerate() {
                    changes.push((time, link, rate(path, 0.6 + 0.8 * random.unit())));
                }
            }
        }
        Twist::Handovers => {
            for time in times(FIRST_HANDOVER, HANDOVERS, scene.duration) {
                let path = &scene.links[1];
                let delay = path.delay + HANDOVER_DELAY.mul_f64(2.0 * random.unit());
                changes.push((time, 1, rate(path, 0.5 + random.unit())));
                changes.push((time, 1, Change::Delay(delay.saturating_sub(HANDOVER_DELAY))));
            }
        }
        Twist::Wander
        | Twist::Queue(_)
        | Twist::FairQueue
        | Twist::FairQueueAndMarks
        | Twist::Marks
        | Twist::Slots
        | Twist::SlowBack => {}
    }
    changes
}

fn times(first: Duration, every: Duration, end: Duration) -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(first), move |time| Some(*time + every))
        .take_while(move |time| *time < end)
}

/// Returns the change to this share of the rate of a path.
pub(super) fn rate(path: &Path, share: f64) -> Change {
    Change::Rate(Bitrate::new((path.rate.bits_per_second() as f64 * share) as u64))
}
