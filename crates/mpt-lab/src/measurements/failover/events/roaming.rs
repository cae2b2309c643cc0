//! The client's outer addresses change in mid-transfer.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::measurements::failover::event::{
    AFTERMATH, Event, TCP_BELOW_HALF, TCP_BELOW_TENTH, TCP_RECOVERED, WARM_UP,
};
use crate::measurements::failover::event::{Happened, with_tcp};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::network::Middle;
use crate::measurements::failover::network::nat::Nat;
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::traffic::Moment;

/// Longest pause of a steady metronome.
const PAUSE: Duration = Duration::from_millis(50);
/// Time without a longer pause after which the metronome counts as steady.
const STEADY: Duration = Duration::from_millis(300);

/// The event of a NAT that forgets its bindings on both paths and makes new ones with the next
/// packet from inside.
pub(super) static REBINDING: Event = Event {
    name: "nat-rebinding",
    what: "NAT rebinding on both paths",
    session: true,
    figures: FIGURES,
    run: rebinding,
    takes: Duration::from_secs(6),
};

/// The event of new addresses on the client's interfaces.
pub(super) static ADDRESS: Event = Event {
    name: "address-change",
    what: "client address change on both paths",
    session: true,
    figures: FIGURES,
    run: address,
    takes: Duration::from_secs(6),
};

const FIGURES: &[Figure] = &[
    Figure::time("packets to the server pass after", 500.0, 500.0),
    Figure::time("packets from the server pass after", 500.0, 500.0),
    TCP_BELOW_HALF,
    TCP_BELOW_TENTH,
    TCP_RECOVERED,
];

fn rebinding(lab: &Lab<'_>, _repetition: u32) -> Result<Vec<f64>> {
    let spec = RigSpec { middle: Middle::Gap, roaming: true, ..RigSpec::USUAL };
    let mut rig = Rig::new(lab, spec)?;
    let nat = Nat::start(&rig.network)?;
    rig.start_both()?;
    let recording = rig.record(true, Beat::LIGHT)?;
    lab.interrupt.sleep(WARM_UP)?;
    let at = nat.rebind();
    lab.interrupt.sleep(AFTERMATH)?;
    let end = Moment::now();
    let record = recording.stop(Duration::ZERO).with_context(|| rig.logs())?;
    rig.stop()?;
    values(&Happened { record, at, end })
}

fn address(lab: &Lab<'_>, _repetition: u32) -> Result<Vec<f64>> {
    let spec = RigSpec { roaming: true, ..RigSpec::USUAL };
    let happened = with_tcp(lab, spec, |rig| {
        let moment = rig.network.renumber(0, 11)?;
        rig.network.renumber(1, 11)?;
        Ok(moment)
    })?;
    values(&happened)
}

fn values(happened: &Happened) -> Result<Vec<f64>> {
    let steady = happened.record.beats.iter().map(|beats| {
        let at = beats.steady_from(happened.at, PAUSE, STEADY);
        at.map_or(f64::INFINITY, |at| at.millis_since(happened.at))
    });
    let mut values: Vec<f64> = steady.collect();
    values.extend(happened.tcp()?);
    Ok(values)
}
