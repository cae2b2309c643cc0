//! Messages of `mptsrv`, the prototype of the papers (docs/compat.md).
//!
//! Data is GRE in UDP as everywhere. Beside it there are [`keepalive`]s, which travel on the data
//! port behind a GRE header and begin with a byte that no IP packet begins with, and
//! [`command`]s, which have a UDP port of their own. Nothing here knows a key: digests are bytes.

pub mod command;
pub mod keepalive;

use std::net::{IpAddr, Ipv6Addr};

/// Inner packets that begin with this byte or a larger one are control, smaller ones IP.
pub const FIRST_CONTROL_BYTE: u8 = 0xA0;
/// The longest UDP payload that the prototype receives whole, in bytes.
pub const MAX_DATAGRAM_LEN: usize = 1600;

/// The kinds of messages: their first byte.
pub mod code {
    /// "I am here", on the data port.
    pub const KEEPALIVE: u8 = 0xA1;
    /// A path goes up or down.
    pub const PATH_STATUS: u8 = 0xA2;
    /// A connection is to be created.
    pub const CREATE: u8 = 0xA3;
}

/// An address as it travels: 16 bytes, IPv4 mapped into IPv6 (RFC 4291, section 2.5.5.2).
pub(crate) fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// The reverse of [`mapped`].
pub(crate) fn unmapped(bytes: [u8; 16]) -> IpAddr {
    Ipv6Addr::from(bytes).to_canonical()
}

/// The number of an address's IP version.
pub(crate) fn version(address: IpAddr) -> u8 {
    if address.is_ipv4() { 4 } else { 6 }
}
