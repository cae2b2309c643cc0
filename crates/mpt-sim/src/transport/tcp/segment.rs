//! Segments and acknowledgements.

use mpt_link::ByteCount;

use crate::kernel::time::Time;
use crate::simulation::Packet;

/// Most blocks of an acknowledgement: three fit beside timestamps (RFC 2018, section 3).
pub const BLOCKS: usize = 3;

/// A data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// True if it opens the subflow, and carries no data.
    pub syn: bool,
    /// Its number on the subflow, in segments.
    pub sequence: u64,
    /// Its number in the connection (RFC 8684: data sequence mapping); the same for plain TCP.
    pub data_sequence: u64,
    /// The time at which it was sent (RFC 7323: TSval).
    pub timestamp: Time,
    /// Number of segments that the subflow had sent before, retransmissions included (TCP-DOOR: packet sequence number).
    pub transmission: u64,
    /// Its explicit congestion notification.
    pub ecn: Ecn,
}

/// Explicit congestion notification (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn {
    /// True if the segment can be marked (ECT).
    pub capable: bool,
    /// True if it has been marked (CE).
    pub congested: bool,
    /// True if the sender has slowed down (CWR).
    pub reduced: bool,
}

/// A block of received segments, from and up to (exclusive).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The first number.
    pub from: u64,
    /// The number above the last one.
    pub to: u64,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The number below which all segments of the subflow have been received.
    pub next: u64,
    /// Blocks received above `next`, the most recently received first; empty blocks are at the end.
    pub blocks: [Block; BLOCKS],
    /// The segment that came a second time (RFC 2883).
    pub duplicate: Option<u64>,
    /// Timestamp of the segment that moved `next` last, or of the one that it repeats (RFC 7323: TSecr).
    pub echo: Time,
    /// Number of acknowledgements that the receiver of the subflow had sent before (TCP-DOOR).
    pub number: u64,
    /// True if a segment was overtaken by one sent later (TCP-DOOR).
    pub out_of_order: bool,
    /// The number below which all segments of the connection have been received (RFC 8684: DATA_ACK).
    pub data_next: u64,
    /// The end of the receive window: the connection takes segments below this number.
    pub limit: u64,
    /// True if a segment was marked, and the sender has not said since that it has slowed down (RFC 3168: ECE).
    pub congestion: bool,
}

impl Ack {
    /// Returns the blocks that are not empty.
    pub fn sacked(&self) -> impl Iterator<Item = Block> {
        self.blocks.into_iter().filter(|block| block.from < block.to)
    }
}

impl Packet for Segment {
    fn digest(&self) -> u64 {
        self.transmission << 40 ^ self.sequence << 20 ^ self.data_sequence
    }
}

impl Packet for Ack {
    fn digest(&self) -> u64 {
        self.number << 40 ^ self.next << 20 ^ self.data_next
    }
}

/// Sizes of segments on the wire, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireSizes {
    /// A full segment.
    pub segment: ByteCount,
    /// An acknowledgement without blocks, or the segment that opens a subflow.
    pub ack: ByteCount,
    /// Each further block; the option itself counts as two bytes and two of padding.
    pub block: ByteCount,
}

impl WireSizes {
    /// Returns the sizes of TCP with timestamps over IPv4, with `mss` bytes of payload, `framing` bytes of the link, and `options` more bytes in both
    /// directions.
    pub const fn ipv4(mss: u64, framing: u64, options: u64) -> Self {
        /// Bytes of headers: IP 20, TCP 20, timestamps 12.
        const HEADERS: u64 = 52;
        Self {
            segment: ByteCount(mss + HEADERS + framing + options),
            ack: ByteCount(HEADERS + framing + options),
            block: ByteCount(8),
        }
    }

    /// Returns what a segment takes.
    pub fn of_segment(&self, segment: &Segment) -> ByteCount {
        if segment.syn { self.ack } else { self.segment }
    }

    /// Returns what an acknowledgement takes.
    pub fn of_ack(&self, ack: &Ack) -> ByteCount {
        let blocks = ack.sacked().count() as u64 + u64::from(ack.duplicate.is_some());
        let option = if blocks == 0 { 0 } else { 4 };
        ByteCount(self.ack.0 + option + blocks * self.block.0)
    }
}
