//! Packets, their sizes, and the paths that they take.

use crate::kernel::time::Time;
use crate::simulation::Packet;

/// Payload of every packet, in bytes.
pub const MSS: u64 = 1400;

/// Headers of a data packet: IP 20, PPP 2, TCP with options 40.
pub(super) const DATA_HEADER: u64 = 62;

/// Bytes that timestamps add to the headers of a data packet.
pub(super) const TIMESTAMPS: u64 = 20;

/// Sizes of an acknowledgement in bytes: a plain one, one with timestamps, and one with the blocks
/// of D-SACK.
pub(super) const ACK: u64 = 42;

pub(super) const ACK_TIMESTAMPS: u64 = 67;

pub(super) const ACK_BLOCKS: u64 = 87;

/// Number of paths: the study has two, and the original code was never used with more.
pub(crate) const PATHS: usize = 2;

/// A data packet. Sequence numbers count packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its number on the subflow.
    pub(super) sequence: u64,
    /// Its number in the connection.
    pub(super) data_sequence: u64,
    /// The time at which it was sent.
    pub(super) timestamp: Time,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next number expected on the subflow.
    pub(super) next: u64,
    /// Timestamp of the packet that caused it (Eifel).
    pub(super) echo: Option<Time>,
    /// Blocks of D-SACK.
    pub(super) blocks: Option<Blocks>,
}

/// The blocks of a D-SACK report, in numbers of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// The number of the packet that came.
    pub(super) own: u64,
    /// The lowest contiguous packets in the buffer, from and up to (exclusive).
    pub(super) lowest: (u64, u64),
}

impl Packet for Data {
    fn digest(&self) -> u64 {
        self.sequence << 32 ^ self.data_sequence
    }
}

impl Packet for Ack {
    fn digest(&self) -> u64 {
        self.next << 1 | u64::from(self.blocks.is_some())
    }
}
