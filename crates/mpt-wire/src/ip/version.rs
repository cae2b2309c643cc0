//! The version of an IP packet.

use std::fmt;
use std::net::IpAddr;

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
