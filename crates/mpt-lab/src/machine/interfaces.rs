//! Counters of network interfaces.

use std::collections::HashMap;

use anyhow::{Context, Result};
use procfs::FromRead;
use procfs::net::{DeviceStatus, InterfaceDeviceStatus};

/// Returns all interfaces of the network namespace of this thread, by name.
pub(crate) fn here() -> Result<HashMap<String, DeviceStatus>> {
    let path = "/proc/thread-self/net/dev";
    let status =
        InterfaceDeviceStatus::from_file(path).with_context(|| format!("cannot read {path}"))?;
    Ok(status.0)
}

/// Returns the packets that an interface dropped or that were damaged: those received, and those
/// sent.
pub(crate) fn drops(status: &DeviceStatus) -> [u64; 2] {
    [status.recv_errs + status.recv_drop, status.sent_errs + status.sent_drop]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_and_errors_are_counted_together() {
        let table = "Inter-|   Receive                            |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n    \
            lo:       1       2    3    4    5     6          7         8        9      10   11   12    13     14      15          16\n\
            link0: 10 20 0 0 0 0 0 0 30 40 0 7 0 0 0 0\n";
        let interfaces = InterfaceDeviceStatus::from_read(table.as_bytes()).unwrap().0;
        assert_eq!(interfaces.len(), 2);
        assert_eq!(drops(&interfaces["lo"]), [7, 23]);
        assert_eq!(drops(&interfaces["link0"]), [0, 7]);
        assert!(here().unwrap().contains_key("lo"));
    }
}
