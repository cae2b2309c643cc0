//! The transport protocols that a coalescer may merge.

/// The transport protocols of which the receiving device takes super-packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mergeable {
    /// TCP over both IP versions: the device has TCP segmentation offload.
    pub tcp: bool,
    /// UDP over both IP versions: the device has UDP segmentation offload.
    pub udp: bool,
}
