//! What the laboratory and its emulator say to each other: one JSON value per line. The first line to the emulator is its
//! [`EmulatorPlan`](super::EmulatorPlan); the end of its input ends it.

use std::time::Duration;

use mpt_link::Change;
use serde::{Deserialize, Serialize};

/// A command. Each is answered by one [`Reply`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Command {
    /// The schedules begin now.
    StartSchedule,
    /// A channel changes now.
    Change(usize, Change),
    /// A cable is plugged in or pulled out at both ends.
    Carrier(usize, bool),
    /// What has happened so far?
    Report,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// Done. (The first one: all devices are up.)
    Done,
    /// It cannot be done, and why.
    Failed(String),
    /// What has happened so far.
    Report(Box<Report>),
}

/// What the emulator itself has counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// Of each channel.
    pub(super) channels: Vec<mpt_link::Counters>,
    /// Of both ends of each cable.
    pub(super) cables: Vec<[EndReport; 2]>,
    /// How late frames were.
    pub(super) lateness: Lateness,
}

/// Frames that one device should have got but did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndReport {
    /// Dropped by us because the cable was out.
    pub(super) cut: u64,
    /// Refused by the kernel.
    pub(super) refused: u64,
    /// Refused by the kernel because the device was down. It counts them as dropped by the device as well.
    pub(super) down: u64,
    /// Dropped by us because too many were on their way.
    pub(super) overflow: u64,
}

/// How long after its due time a frame (or super-packet) was given to the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lateness {
    /// Number of frames and super-packets.
    pub(crate) frames: u64,
    /// Not exceeded by half of them.
    pub(crate) p50: Duration,
    /// Not exceeded by 99 % of them.
    pub(crate) p99: Duration,
    /// Not exceeded by 99.9 % of them.
    pub(crate) p999: Duration,
    /// The latest.
    pub(crate) max: Duration,
}
