//! Numbered datagrams over a cable.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;

use super::Laboratory;
use super::rig::{Rig, address};
use crate::processes::poll::POLL;
use crate::topology::End;
use crate::traffic::datagrams::{Arrival, Pace, Plan, Receiver};

/// Longest time that datagrams may be on their way after the last of them was sent.
const PATIENCE: Duration = Duration::from_millis(500);

/// Sends a stream over a cable from host a to host b, and returns the datagrams that arrived, in the order of arrival.
pub(super) fn transfer(
    lab: &Laboratory<'_>,
    rig: &Rig,
    cable: usize,
    stream: Plan,
) -> Result<Vec<Arrival>> {
    let at = |end| SocketAddr::new(address(cable, end), 0);
    let receiver = Receiver::start(rig.host(End::B), at(End::B), stream)?;
    let stream = receiver.send(rig.host(End::A), at(End::A))?;
    while !stream.is_sent() {
        lab.interrupt.sleep(POLL)?;
    }
    Ok(stream.finish(PATIENCE)?.arrivals)
}

/// Returns the plan of `count` datagrams of `size` bytes, `rate` in a second, sent and received in super-packets where the kernel can.
pub(super) fn batches(size: usize, rate: f64, count: u64) -> Plan {
    let pace = Pace::Every(Duration::from_secs_f64(1.0 / rate));
    Plan { size, pace, count: Some(count), batches: true, dscp: 0 }
}
