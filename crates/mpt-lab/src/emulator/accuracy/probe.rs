//! One-way delays: small datagrams that carry the time they were sent at, and are stamped by the kernel that receives
//! them. Both clocks are the same.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::Laboratory;
use super::datagrams::transfer;
use super::rig::Rig;
use crate::traffic::datagrams::{Pace, Plan};

/// Bytes of a datagram's payload.
const SIZE: usize = 64;
/// Mean time between two of them; each time is drawn between half and one and a half of it, so that nothing falls into step.
pub(super) const SPACING: Duration = Duration::from_millis(2);

/// Sends `count` datagrams over a cable from host a to host b, and returns their delays in seconds, in the order of arrival. All of them must arrive.
pub(super) fn delays(
    lab: &Laboratory<'_>,
    rig: &Rig,
    cable: usize,
    count: usize,
) -> Result<Vec<f64>> {
    let (pace, number) = (Pace::Around(SPACING), Some(count as u64));
    let stream = Plan { size: SIZE, pace, count: number, batches: false, dscp: 0 };
    let arrivals = transfer(lab, rig, cable, stream)?;
    ensure!(arrivals.len() == count, "{} of {count} probes arrived", arrivals.len());
    Ok(arrivals.iter().map(|arrival| arrival.delay() / 1e3).collect())
}
