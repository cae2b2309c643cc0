//! A path that was dead works again.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::measurements::failover::event::{ARRIVE, Event, NORMAL, WARM_UP, WINDOW};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::topology::End;
use crate::traffic::Moment;

/// Time for which the path is dead: until TCP has settled on the other one.
const DEAD: Duration = Duration::from_secs(2);
/// Time of observation after its return.
const WATCHED: Duration = Duration::from_millis(2500);

/// The return with TCP, until it has both paths again.
pub(super) static TCP: Event = Event {
    name: "return",
    what: "path returns, TCP",
    session: false,
    figures: &[
        Figure::time("full aggregate (90 %) again after", 1000.0, 1000.0),
        Figure::told("TCP below 50 % of one path"),
    ],
    run: with_tcp,
    takes: Duration::from_secs(8),
};

/// The return with UDP that leaves room on either path: nothing is lost by the return.
pub(super) static UDP: Event = Event {
    name: "return-udp",
    what: "path returns, UDP of 50 Mbit/s",
    session: false,
    figures: &[Figure::none("packets lost from the return on")],
    run: with_udp,
    takes: Duration::from_secs(7),
};

/// Breaks or repairs the path, by turns by its carrier and as a black hole; without a session only
/// by its carrier.
fn set(rig: &Rig<'_>, lab: &Lab<'_>, repetition: u32, works: bool) -> Result<Moment> {
    if repetition.is_multiple_of(2) || !lab.session {
        rig.network.set_carrier(0, End::A, works)
    } else {
        rig.network.set_flow_both(0, works)
    }
}

fn with_tcp(lab: &Lab<'_>, repetition: u32) -> Result<Vec<f64>> {
    let rig = Rig::up(lab, RigSpec::USUAL)?;
    let recording = rig.record(true, Beat::LIGHT)?;
    lab.interrupt.sleep(WARM_UP)?;
    let broken = set(&rig, lab, repetition, false)?;
    lab.interrupt.sleep(DEAD)?;
    let back = set(&rig, lab, repetition, true)?;
    lab.interrupt.sleep(WATCHED)?;
    let end = Moment::now();
    let record = recording.stop(Duration::ZERO).with_context(|| rig.logs())?;
    rig.stop()?;
    let goodput = record.goodput.context("there was no TCP")?;
    let aggregate = goodput.rate(broken.before(NORMAL), broken);
    Ok(vec![
        goodput.reached(aggregate * 0.9, back, WINDOW),
        goodput.longest_below(aggregate / 4.0, back, end),
    ])
}

fn with_udp(lab: &Lab<'_>, repetition: u32) -> Result<Vec<f64>> {
    let rig = Rig::up(lab, RigSpec::USUAL)?;
    let recording = rig.record(false, Beat::load(50))?;
    lab.interrupt.sleep(Duration::from_millis(500))?;
    set(&rig, lab, repetition, false)?;
    lab.interrupt.sleep(DEAD)?;
    let back = set(&rig, lab, repetition, true)?;
    lab.interrupt.sleep(WATCHED)?;
    let end = Moment::now();
    let record = recording.stop(ARRIVE).with_context(|| rig.logs())?;
    rig.stop()?;
    let lost = record.beats.iter().map(|beats| beats.lost_between(back, end)).sum::<u64>();
    Ok(vec![lost as f64])
}
