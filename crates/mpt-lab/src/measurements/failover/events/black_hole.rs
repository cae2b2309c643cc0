//! A path drops everything without a sound, behind its queue, in both directions.

use std::time::Duration;

use anyhow::Result;

use crate::measurements::failover::event::{
    Event, TCP_BELOW_HALF, TCP_BELOW_TENTH, TCP_RECOVERED, with_tcp,
};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::rig::{Lab, RigSpec};
use crate::topology::End;

/// A black hole on one path.
pub(super) static EVENT: Event = Event {
    name: "black-hole",
    what: "path silently drops everything",
    session: true,
    figures: &[
        Figure::time("a sends elsewhere", 400.0, 400.0),
        Figure::time("b waits no longer", 400.0, 400.0),
        Figure::time("b sends elsewhere", 400.0, 400.0),
        Figure::time("a waits no longer", 400.0, 400.0),
        TCP_BELOW_HALF,
        TCP_BELOW_TENTH,
        TCP_RECOVERED,
    ],
    run,
    takes: Duration::from_secs(5),
};

fn run(lab: &Lab<'_>, _repetition: u32) -> Result<Vec<f64>> {
    let mut interfaces = [0; 2];
    let happened = with_tcp(lab, RigSpec::USUAL, |rig| {
        interfaces = [rig.network.index(0, End::A)?, rig.network.index(0, End::B)?];
        rig.network.set_flow_both(0, false)
    })?;
    let mut values = vec![
        happened.stopped_using(End::A, interfaces[0]),
        happened.record.stopped_waiting(End::B, happened.at),
        happened.stopped_using(End::B, interfaces[1]),
        happened.record.stopped_waiting(End::A, happened.at),
    ];
    values.extend(happened.tcp()?);
    Ok(values)
}
