//! The loss of a path's carrier at one host; the other one, behind a switch, keeps it and has to be told.

use std::time::Duration;

use crate::measurements::failover::event::{
    Event, TCP_BELOW_HALF, TCP_BELOW_TENTH, TCP_RECOVERED, with_tcp,
};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::rig::{Lab, RigSpec};
use crate::topology::End;
use anyhow::Result;

/// The loss of the carrier of one path.
pub(super) static EVENT: Event = Event {
    name: "carrier",
    what: "carrier lost at one end",
    session: false,
    figures: &[
        Figure::time("local end sends elsewhere", 50.0, 150.0),
        Figure::time("local end waits no longer", 50.0, 150.0),
        // The peer cannot know earlier than the notification takes to reach it.
        Figure::time("peer sends elsewhere, less one RTT", 50.0, 150.0).by_session(),
        Figure::time("peer waits no longer, less one RTT", 50.0, 150.0).by_session(),
        Figure::told("RTT then"),
        TCP_BELOW_HALF,
        TCP_BELOW_TENTH,
        TCP_RECOVERED,
    ],
    run,
    takes: Duration::from_secs(5),
};

/// Takes the carrier by turns at the end that sends TCP's data and at the one that sends its acknowledgements.
fn run(lab: &Lab<'_>, repetition: u32) -> Result<Vec<f64>> {
    let local = if repetition.is_multiple_of(2) { End::A } else { End::B };
    let mut interfaces = [0; 2];
    let happened = with_tcp(lab, RigSpec::USUAL, |rig| {
        interfaces = [rig.network.index(0, local)?, rig.network.index(0, local.other())?];
        rig.network.set_carrier(0, local, false)
    })?;
    let (record, at) = (&happened.record, happened.at);
    let peer = local.other();
    let peer_sends = happened.stopped_using(peer, interfaces[1]);
    let peer_waits = record.stopped_waiting(peer, at);
    let until = at.after(Duration::from_millis(100));
    let round_trip = record.round_trip(at, until);
    let mut values = vec![
        happened.stopped_using(local, interfaces[0]),
        record.stopped_waiting(local, at),
        (peer_sends - round_trip).max(0.0),
        (peer_waits - round_trip).max(0.0),
        round_trip,
    ];
    values.extend(happened.tcp()?);
    Ok(values)
}
