//! The fields of IP, TCP and UDP headers that segmentation and coalescing read and write in place.

use mpt_wire::ip::protocol;

/// The transport protocols that can be cut and joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    /// Returns the number of the protocol in an IP header.
    pub(crate) fn protocol(self) -> u8 {
        match self {
            Transport::Tcp => protocol::TCP,
            Transport::Udp => protocol::UDP,
        }
    }
}

/// Field offsets, from the start of the named header, of what segmenting and coalescing touch.
pub(crate) mod field {
    use mpt_wire::{ipv4, ipv6, tcp, udp};

    pub(crate) const IPV4_HEADER_LEN: usize = ipv4::HEADER_LEN;
    pub(crate) const IPV4_TOTAL_LENGTH: usize = 2;
    pub(crate) const IPV4_ID: usize = 4;
    pub(crate) const IPV4_FRAGMENT: usize = 6;
    pub(crate) const IPV4_TTL: usize = 8;
    pub(crate) const IPV4_PROTOCOL: usize = 9;
    pub(crate) const IPV4_CHECKSUM: usize = 10;
    pub(crate) const IPV4_ADDRESSES: usize = 12;

    pub(crate) const IPV6_HEADER_LEN: usize = ipv6::HEADER_LEN;
    pub(crate) const IPV6_PAYLOAD_LENGTH: usize = 4;
    pub(crate) const IPV6_NEXT_HEADER: usize = 6;
    pub(crate) const IPV6_ADDRESSES: usize = 8;

    pub(crate) const TCP_HEADER_LEN: usize = tcp::HEADER_LEN;
    pub(crate) const TCP_SEQUENCE: usize = 4;
    pub(crate) const TCP_ACKNOWLEDGMENT: usize = 8;
    /// Data offset (4 bits) and flags (12 bits).
    pub(crate) const TCP_FLAGS: usize = 12;
    pub(crate) const TCP_WINDOW: usize = 14;
    pub(crate) const TCP_CHECKSUM: usize = 16;
    pub(crate) const TCP_URGENT: usize = 18;

    pub(crate) const UDP_HEADER_LEN: usize = udp::HEADER_LEN;
    pub(crate) const UDP_LENGTH: usize = 4;
    pub(crate) const UDP_CHECKSUM: usize = 6;
}

/// TCP flags in the 16-bit word at [`field::TCP_FLAGS`].
pub(crate) mod tcp_flag {
    pub(crate) const FIN: u16 = 0x001;
    pub(crate) const PSH: u16 = 0x008;
    pub(crate) const ACK: u16 = 0x010;
    pub(crate) const ECE: u16 = 0x040;
    pub(crate) const CWR: u16 = 0x080;
    /// Accurate ECN, RFC 9768 (once the nonce sum).
    pub(crate) const AE: u16 = 0x100;
    /// All flag bits, with the three reserved ones; the data offset is above.
    pub(crate) const ALL: u16 = 0xfff;
}

#[inline]
pub(crate) fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline]
pub(crate) fn write_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn write_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}
