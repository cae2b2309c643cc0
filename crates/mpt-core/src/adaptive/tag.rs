//! The data that the queue keeps of a packet besides its bytes.

use mpt_wire::gre;

use crate::StoreId;

/// The data that the queue keeps of a packet besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) protocol: gre::Protocol,
    pub(crate) outer_tos: u8,
    pub(crate) flow_hash: u64,
    /// True if forward error correction protects the packet.
    pub(crate) protected: bool,
    /// True if the packet is wanted at once, and nothing else makes up for its loss.
    pub(crate) urgent: bool,
    /// True if the packet belongs to a short flow: it is delivered at once.
    pub(crate) short: bool,
}

/// A packet that waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// The place at which the owner keeps the packet.
    pub(crate) packet: StoreId,
    pub(crate) tag: Tag,
}
