//! What both IP versions share: the version, protocol numbers, and the [`Summary`] of a packet that
//! classification works on.

mod flow_hash;
mod summary;

use std::fmt;
use std::net::IpAddr;

pub use summary::Summary;

/// Assigned protocol numbers (IANA "Protocol Numbers"): the IPv4 protocol or IPv6 next header.
pub mod protocol {
    /// IPv6 hop-by-hop options (RFC 8200 section 4.3).
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP for IPv4 (RFC 792).
    pub const ICMP: u8 = 1;
    /// TCP (RFC 9293).
    pub const TCP: u8 = 6;
    /// UDP (RFC 768).
    pub const UDP: u8 = 17;
    /// DCCP (RFC 4340).
    pub const DCCP: u8 = 33;
    /// IPv6 routing header (RFC 8200 section 4.4).
    pub const ROUTING: u8 = 43;
    /// IPv6 fragment header (RFC 8200 section 4.5).
    pub const FRAGMENT: u8 = 44;
    /// GRE (RFC 2784).
    pub const GRE: u8 = 47;
    /// IP encapsulating security payload (RFC 4303).
    pub const ESP: u8 = 50;
    /// IP authentication header (RFC 4302).
    pub const AUTHENTICATION: u8 = 51;
    /// ICMPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// Nothing follows (RFC 8200 section 4.7).
    pub const NO_NEXT_HEADER: u8 = 59;
    /// IPv6 destination options (RFC 8200 section 4.6).
    pub const DESTINATION_OPTIONS: u8 = 60;
    /// OSPF (RFC 2328).
    pub const OSPF: u8 = 89;
    /// SCTP (RFC 9260).
    pub const SCTP: u8 = 132;
    /// UDP-Lite (RFC 3828).
    pub const UDP_LITE: u8 = 136;

    /// The protocols whose headers begin with a source and a destination port.
    pub const WITH_PORTS: [u8; 5] = [TCP, UDP, DCCP, SCTP, UDP_LITE];
}

/// The version of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Version {
    /// The version of a packet that starts with this byte.
    #[inline]
    pub const fn of_first_byte(byte: u8) -> Option<Version> {
        match byte >> 4 {
            4 => Some(Version::V4),
            6 => Some(Version::V6),
            _ => None,
        }
    }

    /// The version of an address.
    #[inline]
    pub const fn of(address: IpAddr) -> Version {
        match address {
            IpAddr::V4(_) => Version::V4,
            IpAddr::V6(_) => Version::V6,
        }
    }

    /// The length of the header without options or extension headers, in bytes.
    #[inline]
    pub const fn header_len(self) -> usize {
        match self {
            Version::V4 => crate::ipv4::HEADER_LEN,
            Version::V6 => crate::ipv6::HEADER_LEN,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::V4 => "IPv4",
            Version::V6 => "IPv6",
        })
    }
}

/// Why bytes are not the header they should be. Whoever sent them is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Malformed {
    /// Shorter than the header's fixed part.
    #[error("shorter than its header")]
    Truncated,
    /// Neither IPv4 nor IPv6, or not the one asked for.
    #[error("wrong IP version")]
    Version,
    /// The header's length field is too small for the header or goes beyond the packet.
    #[error("impossible header length")]
    HeaderLength,
    /// The packet's length field is too small for its header or larger than what is there.
    #[error("impossible packet length")]
    Length,
    /// The chain of IPv6 extension headers goes beyond the packet or is too long.
    #[error("impossible chain of extension headers")]
    ExtensionHeaders,
}
