//! All paths go down and come back.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::measurements::failover::event::{Event, NORMAL, WARM_UP, WINDOW};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::observation::leftovers::Holdings;
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::topology::End;

const DARK: Duration = Duration::from_secs(1);
/// Time of observation: TCP waits with its next attempt for as long as the pause lasted, and then
/// once more.
const WATCHED: Duration = Duration::from_secs(4);
/// Longest pause of a steady metronome.
const PAUSE: Duration = Duration::from_millis(50);
/// Time without a longer pause after which the metronome counts as steady.
const STEADY: Duration = Duration::from_millis(300);

/// The event of all paths going down and coming back.
pub(super) static EVENT: Event = Event {
    name: "blackout",
    what: "all paths down and back",
    session: false,
    figures: &[
        Figure::time("packets pass again after", 1000.0, 1000.0),
        Figure::time("TCP at 90 % again after", 4000.0, 4000.0),
        Figure::none("things left over"),
    ],
    run,
    takes: Duration::from_secs(8),
};

/// Lets the paths lose their carrier and be black holes by turns.
fn run(lab: &Lab<'_>, repetition: u32) -> Result<Vec<f64>> {
    let mut rig = Rig::up(lab, RigSpec::USUAL)?;
    let before = Holdings::of(&rig)?;
    let recording = rig.record(true, Beat::LIGHT)?;
    lab.interrupt.sleep(WARM_UP)?;
    let set = |line, works| {
        if repetition.is_multiple_of(2) {
            rig.network.set_carrier(line, End::A, works)
        } else {
            rig.network.set_flow_both(line, works)
        }
    };
    let dark = set(0, false)?;
    set(1, false)?;
    lab.interrupt.sleep(DARK)?;
    let back = set(0, true)?;
    set(1, true)?;
    lab.interrupt.sleep(WATCHED)?;
    let record = recording.stop(Duration::ZERO).with_context(|| rig.logs())?;
    rig.wait_until_up()?;
    let left = before.left_over(&rig)?;
    rig.stop()?;
    let steady = record.beats.iter().map(|beats| beats.steady_from(back, PAUSE, STEADY));
    let pass = steady.map(|at| at.map_or(f64::INFINITY, |at| at.millis_since(back)));
    let goodput = record.goodput.as_ref().context("there was no TCP")?;
    let aggregate = goodput.rate(dark.before(NORMAL), dark);
    Ok(vec![pass.fold(0.0, f64::max), goodput.reached(aggregate * 0.9, back, WINDOW), left])
}
