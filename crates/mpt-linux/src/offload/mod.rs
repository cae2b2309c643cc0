//! Segmentation and coalescing for a TUN device with a virtio-net header.
//!
//! A TUN device that offers TSO and USO hands over *super-packets*: up to 64 KB of one flow behind a single IP and TCP or
//! UDP header, with a [`VnetHeader`] in front that says how to cut them. What travels through the tunnel are ordinary
//! packets, each with its own GRE sequence number. [`Segmenter`] makes the headers of those packets; the payload stays where
//! it was read. [`Coalescer`] does the reverse for packets that come out of the reorder buffer.
//!
//! Everything here is pure: no system calls, no clock, no allocation after construction. Bytes from the wire and from the
//! kernel are checked alike; neither can cause a panic.

#![forbid(unsafe_code)]

pub mod coalesce;
mod run;
pub mod segment;
pub mod vnet;

pub use coalesce::{Coalescer, Piece, Sink};
pub use segment::Segmenter;
pub use vnet::{Malformed, VnetHeader};

/// The transport protocols that can be cut and joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    fn protocol(self) -> u8 {
        match self {
            Transport::Tcp => PROTOCOL_TCP,
            Transport::Udp => PROTOCOL_UDP,
        }
    }
}

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// Field offsets, from the start of the named header, of what segmenting and coalescing touch.
mod field {
    pub(super) const IPV4_HEADER_LEN: usize = 20;
    pub(super) const IPV4_TOTAL_LENGTH: usize = 2;
    pub(super) const IPV4_ID: usize = 4;
    pub(super) const IPV4_FRAGMENT: usize = 6;
    pub(super) const IPV4_TTL: usize = 8;
    pub(super) const IPV4_PROTOCOL: usize = 9;
    pub(super) const IPV4_CHECKSUM: usize = 10;
    pub(super) const IPV4_ADDRESSES: usize = 12;

    pub(super) const IPV6_HEADER_LEN: usize = 40;
    pub(super) const IPV6_PAYLOAD_LENGTH: usize = 4;
    pub(super) const IPV6_NEXT_HEADER: usize = 6;
    pub(super) const IPV6_ADDRESSES: usize = 8;

    pub(super) const TCP_HEADER_LEN: usize = 20;
    pub(super) const TCP_SEQUENCE: usize = 4;
    pub(super) const TCP_ACKNOWLEDGMENT: usize = 8;
    /// Data offset (4 bits) and flags (12 bits).
    pub(super) const TCP_FLAGS: usize = 12;
    pub(super) const TCP_WINDOW: usize = 14;
    pub(super) const TCP_CHECKSUM: usize = 16;
    pub(super) const TCP_URGENT: usize = 18;

    pub(super) const UDP_HEADER_LEN: usize = 8;
    pub(super) const UDP_LENGTH: usize = 4;
    pub(super) const UDP_CHECKSUM: usize = 6;
}

/// TCP flags in the 16-bit word at [`field::TCP_FLAGS`].
mod tcp_flag {
    pub(super) const FIN: u16 = 0x001;
    pub(super) const PSH: u16 = 0x008;
    pub(super) const ACK: u16 = 0x010;
    pub(super) const ECE: u16 = 0x040;
    pub(super) const CWR: u16 = 0x080;
    /// Accurate ECN, RFC 9768 (once the nonce sum).
    pub(super) const AE: u16 = 0x100;
    /// All flag bits, with the three reserved ones; the data offset is above.
    pub(super) const ALL: u16 = 0xfff;
}

#[inline]
fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline]
fn write_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[inline]
fn write_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}
