//! A TUN device and the super-packets being put together for it.

use mpt_linux::offload::Coalescer;

use super::buffers::PacketRef;
use super::system::SuperPacketDevice;

/// One device of the data thread.
#[derive(Debug)]
pub(crate) struct Device<D> {
    /// The open device.
    pub(crate) tun: D,
    /// Received packets waiting for their successors within one round.
    pub(crate) coalescer: Coalescer<PacketRef>,
    /// Writes the kernel refused: the device is down.
    pub(crate) write_failed: u64,
}

impl<D: SuperPacketDevice> Device<D> {
    /// Takes over an open device.
    #[must_use]
    pub(crate) fn new(tun: D) -> Self {
        let offloads = tun.offloads();
        Self { tun, coalescer: Coalescer::new(offloads), write_failed: 0 }
    }
}
