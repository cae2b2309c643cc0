//! A TUN device and the super-packets being put together for it.

use mpt_linux::offload::Coalescer;
use mpt_linux::tun::Tun;

use super::buffers::PacketRef;

/// One device of the data thread.
#[derive(Debug)]
pub(crate) struct Device {
    /// The open device.
    pub(crate) tun: Tun,
    /// Received packets waiting for their successors within one round.
    pub(crate) coalescer: Coalescer<PacketRef>,
    /// Writes the kernel refused: the device is down.
    pub(crate) write_failed: u64,
}

impl Device {
    /// Takes over an open device.
    #[must_use]
    pub(crate) fn new(tun: Tun) -> Self {
        let offloads = tun.offloads();
        Self { tun, coalescer: Coalescer::new(offloads), write_failed: 0 }
    }
}
