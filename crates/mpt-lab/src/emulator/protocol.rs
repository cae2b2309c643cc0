//! The messages between the laboratory and its emulator: one JSON value per line. The first line to the emulator is its
//! [`EmulatorPlan`](super::EmulatorPlan); the end of its input ends it.

use std::time::Duration;

use mpt_link::Change;
use serde::{Deserialize, Serialize};

/// A command. Each is answered by one [`Reply`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Command {
    /// Starts the schedules.
    StartSchedule,
    /// Changes a channel.
    Change(usize, Change),
    /// Plugs a cable in or pulls it out, at both ends.
    Carrier(usize, bool),
    /// Asks for the counters so far.
    Report,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The command has been carried out. (The first one: all devices are up.)
    Done,
    /// The command failed for this reason.
    Failed(String),
    /// The counters so far.
    Report(Box<Report>),
}

/// The counters of the emulator itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// The counters of each channel.
    pub(super) channels: Vec<mpt_link::Counters>,
    /// The counters of both ends of each cable.
    pub(super) cables: Vec<[EndReport; 2]>,
    /// The lateness of frames.
    pub(super) lateness: Lateness,
}

/// Frames that one device should have got but did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndReport {
    /// Frames that the emulator dropped because the cable was out.
    pub(super) cut: u64,
    /// Frames that the kernel refused.
    pub(super) refused: u64,
    /// Frames that the kernel refused because the device was down. It counts them as dropped by the device as well.
    pub(super) down: u64,
    /// Frames that the emulator dropped because too many were on their way.
    pub(super) overflow: u64,
}

/// Percentiles of lateness: the time from the due time of a frame (or super-packet) until it was given to the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lateness {
    /// Number of frames and super-packets.
    pub(crate) frames: u64,
    /// Lateness that half of them do not exceed.
    pub(crate) p50: Duration,
    /// Lateness that 99 % of them do not exceed.
    pub(crate) p99: Duration,
    /// Lateness that 99.9 % of them do not exceed.
    pub(crate) p999: Duration,
    /// Largest lateness.
    pub(crate) max: Duration,
}
