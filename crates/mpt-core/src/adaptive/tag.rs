//! What the queue keeps of a packet besides its bytes.

use mpt_wire::gre;

use crate::StoreId;

/// What the queue keeps of a packet besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) protocol: gre::Protocol,
    pub(crate) outer_tos: u8,
    pub(crate) flow_hash: u64,
    /// Where the owner keeps it.
    pub(crate) packet: StoreId,
    /// Forward error correction protects it.
    pub(crate) protected: bool,
}
