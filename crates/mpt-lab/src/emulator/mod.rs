//! Emulated links: rate, queue, delay, jitter, loss and duplication between namespaces of this machine.
//!
//! The model is `mpt-link`'s. [`Emulator`] carries the packets in user space, wherever there are TAP devices; [`Kernel`] has the kernel do it (`tbf`,
//! `netem`), where it can. [`Links`] is either. `docs/emulation.md` shows how exact they are.

pub(crate) mod accuracy;
mod counters;
mod engine;
mod frame;
mod handle;
mod kernel;
mod lateness;
mod links;
mod plan;
mod pool;
mod protocol;
mod server;

pub(crate) use counters::Counters;
pub(crate) use handle::Emulator;
pub(crate) use kernel::Kernel;
pub(crate) use links::Links;
pub(crate) use plan::{CablePlan, ChannelPlan, EmulatorPlan, EndPlan};
pub(crate) use server::run as serve;
