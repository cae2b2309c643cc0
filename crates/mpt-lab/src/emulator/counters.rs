//! What has become of the frames: as the model decided, and what went wrong besides.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use mpt_linux::netns::{self, Namespace};
use serde::{Deserialize, Serialize};

use super::protocol::Lateness;
use crate::machine::interfaces;

/// What has happened on all links so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// Of each channel: what the model decided.
    pub(crate) channels: Vec<mpt_link::Counters>,
    /// Of each cable, both its devices.
    pub(crate) cables: Vec<[DeviceCounters; 2]>,
    /// How late the emulator was; the kernel does not tell.
    pub(crate) lateness: Option<Lateness>,
}

/// What was lost at one device of a cable, in frames (super-packets count once). All but [`DeviceCounters::cut`] must be
/// 0, or a result is that of the machine and not of the link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceCounters {
    /// Dropped by the kernel before they came to its host's stack (`rx_dropped` and errors).
    pub(crate) rx_dropped: u64,
    /// Dropped by the kernel before they came to the link (`tx_dropped` and errors).
    pub(crate) tx_dropped: u64,
    /// Towards this device: refused by the kernel when given to it.
    pub(crate) refused: u64,
    /// Towards this device: too many on their way.
    pub(crate) overflow: u64,
    /// Towards this device: on their way when the cable was out or the device down. As on a real wire.
    pub(crate) cut: u64,
}

impl DeviceCounters {
    /// Frames lost that no link model lost.
    pub(crate) fn hidden_loss(&self) -> u64 {
        self.rx_dropped + self.tx_dropped + self.refused + self.overflow
    }
}

impl Counters {
    /// Frames lost at all devices that no link model lost: has to be 0.
    pub(crate) fn hidden_loss(&self) -> u64 {
        self.cables.iter().flatten().map(DeviceCounters::hidden_loss).sum()
    }
}

/// Packets dropped or damaged at each interface of a namespace, received and sent ones, by name.
pub(super) fn drops(namespace: &Path) -> Result<HashMap<String, [u64; 2]>> {
    let namespace = Namespace::open(namespace)?;
    let interfaces = netns::run_in(&namespace, interfaces::here)?.context("interface counters")?;
    Ok(interfaces.iter().map(|(name, status)| (name.clone(), interfaces::drops(status))).collect())
}
