//! A path comes and goes, again and again.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::measurements::failover::event::{Event, NORMAL, WARM_UP, WINDOW};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::observation::leftovers::Holdings;
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::topology::End;
use crate::traffic::Moment;

const FLAPS: u32 = 100;
/// Time without and time with carrier.
const HALF: Duration = Duration::from_millis(40);
/// Time of observation after the flaps: a path that has flapped has to prove itself for some seconds.
const WATCHED: Duration = Duration::from_secs(5);

/// The event of 100 flaps in a row.
pub(super) static EVENT: Event = Event {
    name: "flaps",
    what: "100 flaps of carrier in a row",
    session: false,
    figures: &[
        Figure::share("TCP meanwhile, of one path", 0.5).by_session(),
        Figure::time("full aggregate (90 %) again after", 5000.0, 5000.0),
        Figure::none("things left over"),
    ],
    run,
    takes: Duration::from_secs(16),
};

fn run(lab: &Lab<'_>, _repetition: u32) -> Result<Vec<f64>> {
    let mut rig = Rig::up(lab, RigSpec::USUAL)?;
    let before = Holdings::of(&rig)?;
    let recording = rig.record(true, Beat::LIGHT)?;
    lab.interrupt.sleep(WARM_UP)?;
    let start = Moment::now();
    let mut back = start;
    for _ in 0..FLAPS {
        rig.network.set_carrier(0, End::A, false)?;
        lab.interrupt.sleep(HALF)?;
        back = rig.network.set_carrier(0, End::A, true)?;
        lab.interrupt.sleep(HALF)?;
    }
    lab.interrupt.sleep(WATCHED)?;
    let record = recording.stop(Duration::ZERO).with_context(|| rig.logs())?;
    rig.wait_until_up()?;
    let left = before.left_over(&rig)?;
    rig.stop()?;
    let goodput = record.goodput.context("there was no TCP")?;
    let aggregate = goodput.rate(start.before(NORMAL), start);
    Ok(vec![
        goodput.rate(start, back) / (aggregate / 2.0),
        goodput.reached(aggregate * 0.9, back, WINDOW),
        left,
    ])
}
