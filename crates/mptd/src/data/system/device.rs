//! A TUN device and the super-packets being put together for it.

use mpt_linux::tun::{Offloads, VNET_HEADER_LEN};
use mpt_offload::{Coalescer, Mergeable, VnetHeader};

use super::SuperPacketDevice;
use crate::data::memory::buffers::PacketRef;

// The device is opened for the header that the segmenter and the coalescer read and write.
const _: () = assert!(VNET_HEADER_LEN == VnetHeader::LEN);

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
        let Offloads { tso, uso } = tun.offloads();
        Self { tun, coalescer: Coalescer::new(Mergeable { tcp: tso, udp: uso }), write_failed: 0 }
    }
}
