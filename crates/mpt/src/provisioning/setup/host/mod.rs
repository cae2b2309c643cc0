//! The parts of this host that a setup reads and changes: uplinks, settings of the kernel, address translation, names, processes, and the
//! service of the daemon.

pub(crate) mod dns;
pub(super) mod kernel_setting;
pub(super) mod nat;
pub(super) mod process;
pub(crate) mod service;
mod unit;
pub(crate) mod uplinks;
