//! An administrator takes a path out of use while packets flow both ways.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::measurements::failover::event::{ARRIVE, Event};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::topology::End;

/// Time between two changes.
const STEP: Duration = Duration::from_millis(700);

/// The planned end of a path under UDP traffic.
pub(super) static EVENT: Event = Event {
    name: "planned",
    what: "planned path down and up, UDP of 25 Mbit/s each way",
    session: false,
    figures: &[Figure::none("packets lost")],
    run,
    takes: Duration::from_secs(5),
};

/// Takes the path out of use at one end and then at the other.
fn run(lab: &Lab<'_>, _repetition: u32) -> Result<Vec<f64>> {
    let rig = Rig::up(lab, RigSpec::USUAL)?;
    let recording = rig.record(false, Beat::load(25))?;
    lab.interrupt.sleep(STEP)?;
    for end in [End::A, End::B] {
        for up in [false, true] {
            rig.set_path(0, end, up)?;
            lab.interrupt.sleep(STEP)?;
        }
    }
    let record = recording.stop(ARRIVE).with_context(|| rig.logs())?;
    rig.stop()?;
    Ok(vec![record.beats.iter().map(|beats| beats.lost()).sum::<u64>() as f64])
}
