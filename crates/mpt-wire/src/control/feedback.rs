//! The feedback of an adaptive connection: the sender reports what left when, and the receiver what
//! arrived when.

use super::entry::Entry;
use crate::bytes::{u16_at, u32_at};

/// The departure of a data packet, by its GRE sequence number. The clock is the sender's, in microseconds modulo
/// 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The sequence number.
    pub number: u32,
    /// Time of departure.
    pub time: u32,
    /// The time that it had waited in the sender's queue, in units of 100 microseconds; `u16::MAX` for more.
    pub waited: u16,
}

/// The arrival of a data packet on a path. The clock is the receiver's, in microseconds modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrivedEntry {
    /// The path.
    pub path_id: u16,
    /// The sequence number.
    pub number: u32,
    /// Time of arrival.
    pub time: u32,
}

/// The counters of packets received on one path of a connection. All counters go on from report to report and wrap at
/// 2^32, so that a report that is lost costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceivedEntry {
    /// The path.
    pub path_id: u16,
    /// Data packets.
    pub packets: u32,
    /// Bytes of the inner packets.
    pub bytes: u32,
    /// The highest sequence number.
    pub highest: u32,
    /// Packets whose outer header said "congestion experienced" (RFC 3168).
    pub marked: u32,
    /// A number that was the highest some time ago.
    pub settled: u32,
    /// Data packets up to that number, late ones included: what is missing of them is lost.
    pub settled_packets: u32,
}

/// The packets given to one path of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SentEntry {
    /// The path.
    pub path_id: u16,
    /// The last sequence number that it was given.
    pub last: u32,
    /// Data packets that it was given, modulo 2^32.
    pub packets: u32,
}

/// Consecutive sequence numbers of data packets that have not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MissingEntry {
    /// The first of them.
    pub first: u32,
    /// The number of them.
    pub count: u16,
}

impl Entry for Stamp {
    const LEN: usize = 10;

    fn decode(bytes: &[u8]) -> Self {
        Self { number: u32_at(bytes, 0), time: u32_at(bytes, 4), waited: u16_at(bytes, 8) }
    }

    fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice([self.number, self.time].map(u32::to_be_bytes).as_flattened());
        buffer.extend_from_slice(&self.waited.to_be_bytes());
    }
}

impl Entry for ArrivedEntry {
    const LEN: usize = 10;

    fn decode(bytes: &[u8]) -> Self {
        Self { path_id: u16_at(bytes, 0), number: u32_at(bytes, 2), time: u32_at(bytes, 6) }
    }

    fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.path_id.to_be_bytes());
        buffer.extend_from_slice([self.number, self.time].map(u32::to_be_bytes).as_flattened());
    }
}

impl Entry for ReceivedEntry {
    const LEN: usize = 26;

    fn decode(bytes: &[u8]) -> Self {
        Self {
            path_id: u16_at(bytes, 0),
            packets: u32_at(bytes, 2),
            bytes: u32_at(bytes, 6),
            highest: u32_at(bytes, 10),
            marked: u32_at(bytes, 14),
            settled: u32_at(bytes, 18),
            settled_packets: u32_at(bytes, 22),
        }
    }

    fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.path_id.to_be_bytes());
        let received = [self.packets, self.bytes, self.highest, self.marked];
        buffer.extend_from_slice(received.map(u32::to_be_bytes).as_flattened());
        let settled = [self.settled, self.settled_packets];
        buffer.extend_from_slice(settled.map(u32::to_be_bytes).as_flattened());
    }
}

impl Entry for SentEntry {
    const LEN: usize = 10;

    fn decode(bytes: &[u8]) -> Self {
        Self { path_id: u16_at(bytes, 0), last: u32_at(bytes, 2), packets: u32_at(bytes, 6) }
    }

    fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.path_id.to_be_bytes());
        buffer.extend_from_slice([self.last, self.packets].map(u32::to_be_bytes).as_flattened());
    }
}

impl Entry for MissingEntry {
    const LEN: usize = 6;

    fn decode(bytes: &[u8]) -> Self {
        Self { first: u32_at(bytes, 0), count: u16_at(bytes, 4) }
    }

    fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.first.to_be_bytes());
        buffer.extend_from_slice(&self.count.to_be_bytes());
    }
}
