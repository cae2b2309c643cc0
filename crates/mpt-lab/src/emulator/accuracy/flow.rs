//! Bulk transfers by TCP.

use std::net::SocketAddr;

use anyhow::Result;

use super::rig::{Rig, address};
use crate::topology::End;
use crate::traffic::bulk::{Flow, Listener, Plan};

const PORT: u16 = 4720;
/// Buffers of a flow that nothing else holds back, in bytes: 10 Gbit/s for 50 ms.
const BUFFER: usize = 64 * 1024 * 1024;

/// Starts a flow of cubic from host a to host b over a cable, with buffers of the hosts' usual size unless they are to be
/// `large`.
pub(super) fn start(rig: &Rig, cable: usize, large: bool) -> Result<Flow> {
    let plan = Plan { buffer: large.then_some(BUFFER), ..Plan::cubic() };
    let to = SocketAddr::new(address(cable, End::B), PORT);
    Listener::open(rig.host(End::B), to, plan)?.start(rig.host(End::A), None)
}
