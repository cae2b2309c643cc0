//! The data that the queue keeps of a packet besides its bytes.

use mpt_wire::gre;

use crate::StoreId;

/// The way of a packet over the paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// The slot of the only path that it waits for. `None`: it takes the shortest one with credit.
    pub(crate) only: Option<u16>,
    /// It belongs to a short flow, and the other end delivers it at once.
    pub(crate) at_once: bool,
    /// It belongs to no TCP flow, and the other end does not put it in order.
    pub(crate) unordered: bool,
}

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
    pub(crate) way: Way,
}

/// A packet that waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// The place at which the owner keeps the packet.
    pub(crate) packet: StoreId,
    pub(crate) tag: Tag,
}
