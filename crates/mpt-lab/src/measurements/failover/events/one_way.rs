//! A path works in one direction only.

use std::time::Duration;

use anyhow::Result;

use crate::measurements::failover::event::{
    Event, TCP_BELOW_HALF, TCP_BELOW_TENTH, TCP_RECOVERED, with_tcp,
};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::rig::{Lab, RigSpec};
use crate::topology::End;

/// The event in which TCP's data no longer pass, and its acknowledgements do. The other direction
/// may go on.
pub(super) static TOWARDS_B: Event = Event {
    name: "one-way-data",
    what: "only the direction of TCP's data broken",
    session: true,
    figures: FIGURES,
    run: |lab, _| run(lab, End::B),
    takes: Duration::from_secs(5),
};

/// The event in which TCP's acknowledgements no longer pass, and its data do.
pub(super) static TOWARDS_A: Event = Event {
    name: "one-way-acks",
    what: "only the direction of TCP's acknowledgements broken",
    session: true,
    figures: FIGURES,
    run: |lab, _| run(lab, End::A),
    takes: Duration::from_secs(5),
};

const FIGURES: &[Figure] = &[
    Figure::time("sender sends elsewhere", 400.0, 400.0),
    Figure::time("receiver waits no longer", 400.0, 400.0),
    TCP_BELOW_HALF,
    TCP_BELOW_TENTH,
    TCP_RECOVERED,
];

fn run(lab: &Lab<'_>, towards: End) -> Result<Vec<f64>> {
    let sender = towards.other();
    let mut interface = 0;
    let happened = with_tcp(lab, RigSpec::USUAL, |rig| {
        interface = rig.network.index(0, sender)?;
        rig.network.set_flow(0, towards, false)
    })?;
    let mut values = vec![
        happened.stopped_using(sender, interface),
        happened.record.stopped_waiting(towards, happened.at),
    ];
    values.extend(happened.tcp()?);
    Ok(values)
}
