//! The properties of links and of this machine that are measured, one file each.

pub(super) mod bursts;
pub(super) mod delay;
pub(super) mod jitter;
pub(super) mod loss;
pub(super) mod rate;
pub(super) mod throughput;
mod wakeup;
