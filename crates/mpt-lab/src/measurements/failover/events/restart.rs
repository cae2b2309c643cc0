//! The daemon of one end ends and is started again.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::measurements::failover::event::{Event, WARM_UP};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::topology::End;
use crate::traffic::Moment;

/// Time for which the daemon is gone.
const GONE: Duration = Duration::from_millis(700);
const WATCHED: Duration = Duration::from_secs(4);
/// Longest pause of a steady metronome.
const PAUSE: Duration = Duration::from_millis(50);
/// Time without a longer pause after which the metronome counts as steady.
const STEADY: Duration = Duration::from_millis(300);

/// A restart after SIGKILL, as after a crash.
pub(super) static KILLED: Event = Event {
    name: "restart-killed",
    what: "server killed and started again",
    session: false,
    figures: FIGURES,
    run: |lab, _| run(lab, true),
    takes: Duration::from_secs(8),
};

/// A restart after an orderly end.
pub(super) static TERMINATED: Event = Event {
    name: "restart",
    what: "server ended and started again",
    session: false,
    figures: FIGURES,
    run: |lab, _| run(lab, false),
    takes: Duration::from_secs(8),
};

// From the start of its process on.
const FIGURES: &[Figure] = &[
    Figure::time("packets to the server pass after", 1000.0, 1000.0).by_session(),
    Figure::time("packets from the server pass after", 1000.0, 1000.0).by_session(),
    Figure::told("TCP carries again after"),
];

fn run(lab: &Lab<'_>, kill: bool) -> Result<Vec<f64>> {
    let mut rig = Rig::up(lab, RigSpec::USUAL)?;
    let recording = rig.record(true, Beat::LIGHT)?;
    lab.interrupt.sleep(WARM_UP)?;
    rig.end(End::B, kill)?;
    lab.interrupt.sleep(GONE)?;
    let (back, before) = (Moment::now(), recording.received());
    rig.start(End::B)?;
    lab.interrupt.sleep(WATCHED)?;
    let survived = recording.received() > before;
    let record = recording.stop(Duration::ZERO).with_context(|| rig.logs())?;
    rig.stop()?;
    let pass = |number: usize| {
        let at = record.beats[number].steady_from(back, PAUSE, STEADY);
        at.map_or(f64::INFINITY, |at| at.millis_since(back))
    };
    let goodput = record.goodput.as_ref().context("there was no TCP")?;
    let tcp = if survived { goodput.reached(1e6, back, PAUSE) } else { f64::INFINITY };
    Ok(vec![pass(0), pass(1), tcp])
}
