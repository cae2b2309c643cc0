//! An event, and the record around it.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::observation::record::Record;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::topology::End;
use crate::traffic::Moment;
use crate::traffic::bulk::Arrived;

/// Something that happens to a tunnel.
#[derive(Debug)]
pub(crate) struct Event {
    /// Name for the command line and the JSON file.
    pub(crate) name: &'static str,
    /// Description for tables.
    pub(crate) what: &'static str,
    /// True if it makes sense only with a control session.
    pub(crate) session: bool,
    /// The figures of the event.
    pub(crate) figures: &'static [Figure],
    /// Lets it happen once and returns the figures' values, in their order. The number of the repetition, from 0, chooses among variants.
    pub(crate) run: fn(&Lab<'_>, u32) -> Result<Vec<f64>>,
    /// Approximate duration of that.
    pub(crate) takes: Duration,
}

/// Time for TCP to fill its paths before anything happens.
pub(crate) const WARM_UP: Duration = Duration::from_millis(1500);
/// Part of [`WARM_UP`] over which the normal rate is measured.
pub(crate) const NORMAL: Duration = Duration::from_millis(700);
/// Time of observation after the event.
pub(crate) const AFTERMATH: Duration = Duration::from_secs(2);
/// Time after which packets on their way have arrived, even through a full queue.
pub(crate) const ARRIVE: Duration = Duration::from_millis(400);
/// Time over which the rate of TCP is averaged, since cubic's goodput in 10 ms is either much or nothing.
pub(crate) const WINDOW: Duration = Duration::from_millis(100);

/// The record around one event.
#[derive(Debug)]
pub(crate) struct Happened {
    pub(crate) record: Record,
    pub(crate) at: Moment,
    /// The time at which the recording ended.
    pub(crate) end: Moment,
}

/// Sets two lines up, lets TCP flow, lets `event` happen and watches what comes of it.
pub(crate) fn with_tcp(
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
    // A packet that still stood in the queue of one path when a capture ends would look as if it had been given to a dead interface.
    let record = recording.stop(ARRIVE).with_context(|| rig.logs())?;
    rig.stop()?;
    Ok(Happened { record, at, end })
}

impl Happened {
    pub(crate) fn goodput(&self) -> Result<&Arrived> {
        self.record.goodput.as_ref().context("there was no TCP")
    }

    /// Returns TCP's rate before the event, in bit/s.
    pub(crate) fn normal(&self) -> Result<f64> {
        Ok(self.goodput()?.rate(self.at.before(NORMAL), self.at))
    }

    /// The longest times of TCP below 50 % and below 10 % of one of two equal paths, and the time until it has 90 % of that.
    pub(crate) fn tcp(&self) -> Result<[f64; 3]> {
        let one_path = self.normal()? / 2.0;
        let goodput = self.goodput()?;
        Ok([
            goodput.longest_below(one_path * 0.5, self.at, self.end),
            goodput.longest_below(one_path * 0.1, self.at, self.end),
            goodput.recovered(one_path * 0.9, self.at, self.end, WINDOW),
        ])
    }

    /// The time until an end uses line 0 no more.
    pub(crate) fn stopped_using(&self, end: End, interface: u32) -> f64 {
        self.record.stopped_using(end, interface, self.at)
    }
}

/// Figures of [`Happened::tcp`].
pub(crate) const TCP_BELOW_HALF: Figure = Figure::told("TCP below 50 % of one path");
pub(crate) const TCP_BELOW_TENTH: Figure = Figure::told("TCP below 10 % of one path");

pub(crate) const TCP_RECOVERED: Figure = Figure::told("TCP at 90 % of one path after");
