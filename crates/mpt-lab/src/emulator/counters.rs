//! Counters of frames: the decisions of the model, and other losses.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use mpt_linux::netns::{self, Namespace};
use serde::{Deserialize, Serialize};

use super::protocol::Lateness;
use crate::machine::interfaces;

/// The counters of all links so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// The decisions of the model, by channel.
    pub(crate) channels: Vec<mpt_link::Counters>,
    /// The losses at both devices of each cable.
    pub(crate) cables: Vec<[DeviceCounters; 2]>,
    /// The lateness of the emulator; `None` with the kernel, which does not report it.
    pub(crate) lateness: Option<Lateness>,
}

/// Frames lost at one device of a cable (super-packets count once). All but [`DeviceCounters::cut`] must be 0, or a result is that of the machine and
/// not of the link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceCounters {
    /// Frames dropped by the kernel before they came to its host's stack (`rx_dropped` and errors).
    pub(crate) rx_dropped: u64,
    /// Frames dropped by the kernel before they came to the link (`tx_dropped` and errors).
    pub(crate) tx_dropped: u64,
    /// Frames towards this device that the kernel refused.
    pub(crate) refused: u64,
    /// Frames towards this device that were dropped because too many were on their way.
    pub(crate) overflow: u64,
    /// Frames towards this device that were on their way when the cable was out or the device down. A real wire loses them, too.
    pub(crate) cut: u64,
}

impl DeviceCounters {
    /// Returns the frames lost that no link model lost.
    pub(crate) fn hidden_loss(&self) -> u64 {
        self.rx_dropped + self.tx_dropped + self.refused + self.overflow
    }
}

impl Counters {
    /// Returns the frames lost at all devices that no link model lost, which has to be 0.
    pub(crate) fn hidden_loss(&self) -> u64 {
        self.cables.iter().flatten().map(DeviceCounters::hidden_loss).sum()
    }
}

/// Returns the packets dropped or damaged at each interface of a namespace, received and sent ones, by name.
pub(super) fn drops(namespace: &Path) -> Result<HashMap<String, [u64; 2]>> {
    let namespace = Namespace::open(namespace)?;
    let interfaces = netns::run_in(&namespace, interfaces::here)?.context("interface counters")?;
    Ok(interfaces.iter().map(|(name, status)| (name.clone(), interfaces::drops(status))).collect())
}
