//! What has become of the frames: as the model decided, and what went wrong besides.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use mpt_linux::netns::{self, Namespace};
use serde::{Deserialize, Serialize};

use super::protocol::Lateness;

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

/// Drops and errors of one interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Drops {
    pub(super) rx: u64,
    pub(super) tx: u64,
}

/// Drops of all interfaces of a namespace, by name.
pub(super) fn drops(namespace: &Path) -> Result<HashMap<String, Drops>> {
    let namespace = Namespace::open(namespace)?;
    let read = || fs::read_to_string("/proc/thread-self/net/dev");
    let table = netns::run_in(&namespace, read)?.context("read interface counters")?;
    Ok(parse(&table))
}

/// Reads `/proc/net/dev`: after a name and a colon bytes, packets, errs, drop, fifo, frame, compressed, multicast of
/// what was received, then bytes, packets, errs, drop, ... of what was sent.
fn parse(table: &str) -> HashMap<String, Drops> {
    let parse = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Option<Vec<u64>> =
            numbers.split_ascii_whitespace().map(|number| number.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.len() >= 16)?;
        let drops = Drops { rx: numbers[2] + numbers[3], tx: numbers[10] + numbers[11] };
        Some((name.trim().to_owned(), drops))
    };
    table.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_and_errors_are_found() {
        let table = "Inter-|   Receive                            |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n    \
            lo:       1       2    3    4    5     6          7         8        9      10   11   12    13     14      15          16\n\
            link0:10 20 0 0 0 0 0 0 30 40 0 7 0 0 0 0\n";
        let drops = parse(table);
        assert_eq!(drops.len(), 2, "the heading has no colon");
        assert_eq!(drops["lo"], Drops { rx: 7, tx: 23 });
        assert_eq!(drops["link0"], Drops { rx: 0, tx: 7 });
    }
}
