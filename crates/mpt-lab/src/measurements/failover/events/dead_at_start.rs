//! The first path does not work when the daemons start, and begins to later.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::measurements::failover::event::{Event, NORMAL, WARM_UP, WINDOW};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::topology::End;
use crate::traffic::Moment;

const WATCHED: Duration = Duration::from_millis(2500);

/// The event of a first path that is dead at the start.
pub(super) static EVENT: Event = Event {
    name: "dead-at-start",
    what: "first path dead at start",
    session: true,
    figures: &[
        Figure::time("tunnel usable after", 2000.0, 2000.0),
        Figure::none("packets lost meanwhile"),
        Figure::time("both paths (180 %) after its return", 1000.0, 1000.0),
    ],
    run,
    takes: Duration::from_secs(6),
};

fn run(lab: &Lab<'_>, _repetition: u32) -> Result<Vec<f64>> {
    let mut rig = Rig::new(lab, RigSpec::USUAL)?;
    rig.network.set_flow_both(0, false)?;
    let start = Moment::now();
    rig.start(End::A)?;
    rig.start(End::B)?;
    rig.wait_until_usable()?;
    let usable = Moment::now().millis_since(start);

    // There is no TCP flow, since TCP loses packets of its neighbours.
    let recording = rig.record(false, Beat::LIGHT)?;
    lab.interrupt.sleep(Duration::from_millis(500))?;
    let record = recording.stop(Duration::from_millis(100))?;
    let lost = record.beats.iter().map(|beats| beats.lost()).sum::<u64>();

    let recording = rig.record(true, Beat::LIGHT)?;
    lab.interrupt.sleep(WARM_UP)?;
    let back = rig.network.set_flow_both(0, true)?;
    lab.interrupt.sleep(WATCHED)?;
    let record = recording.stop(Duration::ZERO).with_context(|| rig.logs())?;
    rig.stop()?;
    let goodput = record.goodput.context("there was no TCP")?;
    let one_path = goodput.rate(back.before(NORMAL), back);
    Ok(vec![usable, lost as f64, goodput.reached(one_path * 1.8, back, WINDOW)])
}
