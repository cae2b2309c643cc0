//! The output of a queue: segments that leave, and those that it dropped.

use std::time::Duration;

use crate::StoreId;

/// The segment that would leave next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<T> {
    /// Hash of the packet's inner 5-tuple, as given.
    pub flow: u64,
    /// Place of the packet.
    pub id: StoreId,
    /// Number of the segment in its packet.
    pub segment: u16,
    /// Bytes of the segment, headers included.
    pub bytes: u32,
    /// Its flow is sparse: a new flow in the sense of RFC 8290 section 4.2.
    pub sparse: bool,
    /// The packet's data of the owner.
    pub tag: T,
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left<T> {
    /// Place of the packet.
    pub id: StoreId,
    /// Number of the segment in its packet.
    pub segment: u16,
    /// Bytes of the segment, headers included.
    pub bytes: u32,
    /// The owner has to set the ECN field of the segment to CE.
    pub mark: bool,
    /// It is the packet's last segment: the owner takes the packet out of its store.
    pub last: bool,
    /// Its flow is sparse: a new flow in the sense of RFC 8290 section 4.2.
    pub sparse: bool,
    /// The packet's data of the owner.
    pub tag: T,
    /// Time that the packet has waited.
    pub waited: Duration,
}

/// Segments of one packet that were dropped since its last `Dropped`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    /// Place of the packet. With `last` unset it is only a name: the packet may have left meanwhile.
    pub id: StoreId,
    /// Number of the segments, at least one.
    pub segments: u16,
    /// Bytes of the segments, headers included.
    pub bytes: u32,
    /// The packet's last segment is among them: the owner takes the packet out of its store.
    pub last: bool,
    /// The packet's data of the owner.
    pub tag: T,
}

/// A packet was not taken: it alone is larger than the bound in bytes, or no place is free because
/// the owner has not asked for what was dropped
/// ([`FairQueue::pop_dropped`](super::FairQueue::pop_dropped)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue cannot take the packet")]
pub struct Full;
