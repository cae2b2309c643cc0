//! The events of the table, each in a file of its own.

mod black_hole;
mod blackout;
mod carrier;
mod churn;
mod dead_at_start;
mod flaps;
mod full_queue;
mod one_way;
mod planned;
mod restart;
mod returning;
mod roaming;

use std::time::Duration;

use anyhow::{Context, Result};

use super::figure::Figure;
use super::metronome::Beat;
use super::record::Record;
use super::rig::{Lab, Rig, RigSpec};
use crate::topology::End;
use crate::traffic::Moment;
use crate::traffic::bulk::Arrived;

/// Something that happens to a tunnel.
#[derive(Debug)]
pub(super) struct Event {
    /// For the command line and the JSON file.
    pub(super) name: &'static str,
    /// For people.
    pub(super) what: &'static str,
    /// Whether it makes sense only with a control session.
    pub(super) session: bool,
    /// What is told of it.
    pub(super) figures: &'static [Figure],
    /// Lets it happen once and gives the figures' values, in their order. The number of the repetition, from 0, chooses among
    /// variants.
    pub(super) run: fn(&Lab<'_>, u32) -> Result<Vec<f64>>,
    /// About how long that takes.
    pub(super) takes: Duration,
}

/// Every event, in the order of the table.
pub(super) const EVENTS: &[&Event] = &[
    &carrier::EVENT,
    &black_hole::EVENT,
    &one_way::TOWARDS_B,
    &one_way::TOWARDS_A,
    &returning::TCP,
    &returning::UDP,
    &flaps::EVENT,
    &blackout::EVENT,
    &dead_at_start::EVENT,
    &churn::EVENT,
    &planned::EVENT,
    &full_queue::EVENT,
    &roaming::REBINDING,
    &roaming::ADDRESS,
    &restart::KILLED,
    &restart::TERMINATED,
];

/// How long TCP gets to fill its paths before anything happens.
const WARM_UP: Duration = Duration::from_millis(1500);
/// How much of that is its normal rate.
const NORMAL: Duration = Duration::from_millis(700);
/// How long is watched what comes of it.
const AFTERMATH: Duration = Duration::from_secs(2);
/// What is on its way has arrived by then, even through a full queue.
const ARRIVE: Duration = Duration::from_millis(400);
/// The rate of TCP is judged over that time, since cubic's goodput in 10 ms is either much or nothing.
const WINDOW: Duration = Duration::from_millis(100);

/// What was recorded around one event.
#[derive(Debug)]
struct Happened {
    record: Record,
    at: Moment,
    /// When the recording ended.
    end: Moment,
}

/// Sets two lines up, lets TCP flow, lets `event` happen and watches what comes of it.
fn with_tcp(
    lab: &Lab<'_>,
    spec: RigSpec,
    event: impl FnOnce(&Rig<'_>) -> Result<Moment>,
) -> Result<Happened> {
    let rig = Rig::up(lab, spec)?;
    let recording = rig.record(true, Beat::LIGHT)?;
    lab.interrupt.sleep(WARM_UP)?;
    let at = event(&rig)?;
    lab.interrupt.sleep(AFTERMATH)?;
    let end = Moment::now();
    // What still stood in the queue of one path when a capture ends would look as if it had been given to a dead interface.
    let record = recording.stop(ARRIVE).with_context(|| rig.logs())?;
    rig.stop()?;
    Ok(Happened { record, at, end })
}

impl Happened {
    fn goodput(&self) -> Result<&Arrived> {
        self.record.goodput.as_ref().context("there was no TCP")
    }

    /// TCP's rate before the event, in bit/s.
    fn normal(&self) -> Result<f64> {
        Ok(self.goodput()?.rate(self.at.before(NORMAL), self.at))
    }

    /// The longest times of TCP below 50 % and below 10 % of one of two equal paths, and the time until it has 90 % of that.
    fn tcp(&self) -> Result<[f64; 3]> {
        let one_path = self.normal()? / 2.0;
        let goodput = self.goodput()?;
        Ok([
            goodput.longest_below(one_path * 0.5, self.at, self.end),
            goodput.longest_below(one_path * 0.1, self.at, self.end),
            goodput.recovered(one_path * 0.9, self.at, self.end, WINDOW),
        ])
    }

    /// The time until an end uses line 0 no more.
    fn stopped_using(&self, end: End, interface: u32) -> f64 {
        self.record.stopped_using(end, interface, self.at)
    }
}

/// Figures of [`Happened::tcp`].
const TCP_BELOW_HALF: Figure = Figure::told("TCP below 50 % of one path");
const TCP_BELOW_TENTH: Figure = Figure::told("TCP below 10 % of one path");
const TCP_RECOVERED: Figure = Figure::told("TCP at 90 % of one path after");
