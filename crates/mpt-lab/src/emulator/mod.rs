//! Emulated links: rate, queue, delay, jitter, loss and duplication between namespaces of this machine.
//!
//! The model is `mpt-link`'s; [`Emulator`] carries the packets in user space. `docs/emulation.md` tells how exact it is.

mod counters;
mod engine;
mod frame;
mod handle;
mod lateness;
mod plan;
mod pool;
mod protocol;
mod server;

pub(crate) use counters::{Counters, DeviceCounters};
pub(crate) use handle::Emulator;
pub(crate) use plan::{CablePlan, ChannelPlan, EmulatorPlan, EndPlan};
pub(crate) use protocol::Lateness;
pub(crate) use server::run as serve;
