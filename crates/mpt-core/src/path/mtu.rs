//! Sizes: from the MTU of a path to that of what it carries.

use mpt_wire::ip::Version;
use mpt_wire::{ipv4, ipv6, udp};

use crate::seal;

/// The MTU of Ethernet, in bytes: what is assumed of a link that is not known.
pub const ETHERNET: u16 = 1500;

/// Smallest MTU of an IPv6 link (RFC 8200, section 5): below it, IPv6 cannot be carried.
pub const IPV6_MINIMUM: u16 = ipv6::MIN_MTU as u16;

/// The least size that every IPv4 host can receive (RFC 791, section 3.1). A path MTU below it is
/// taken for an error or an attack.
pub const IPV4_MINIMUM: u16 = ipv4::MIN_ACCEPTED_LEN as u16;

/// The overhead of a sealed packet in place of the configured GRE header: a header with key and
/// number, and the tag.
pub const SEALED: u16 = (seal::HEADER_LEN + seal::TAG_LEN) as u16;

/// The smallest path MTU believed, in bytes of the outer packet.
pub const fn minimum(outer: Version) -> u16 {
    match outer {
        Version::V4 => IPV4_MINIMUM,
        Version::V6 => IPV6_MINIMUM,
    }
}

/// Returns the bytes that the tunnel adds to an inner packet: outer IP header, UDP header, and
/// `encapsulation` bytes of a GRE header or [`SEALED`].
pub const fn overhead(outer: Version, encapsulation: u16) -> u16 {
    (outer.header_len() + udp::HEADER_LEN) as u16 + encapsulation
}

/// The inner MTU of a path: what fits into its MTU beside outer IP header, UDP header and
/// `encapsulation` bytes (0 if nothing does).
pub const fn inner(path_mtu: u16, outer: Version, encapsulation: u16) -> u16 {
    path_mtu.saturating_sub(overhead(outer, encapsulation))
}

/// The path MTU that an inner packet of `inner` bytes takes.
pub const fn outer(inner: u16, outer: Version, encapsulation: u16) -> u16 {
    inner.saturating_add(overhead(outer, encapsulation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ethernet_path_carries_what_the_papers_say() {
        assert_eq!(inner(1500, Version::V4, 4), 1468);
        assert_eq!(inner(1500, Version::V4, 8), 1464);
        assert_eq!(inner(1500, Version::V6, 4), 1448);
        assert_eq!(inner(1500, Version::V6, 8), 1444);
        assert_eq!(inner(1492, Version::V4, 16), 1448);
        assert_eq!(inner(1500, Version::V4, SEALED), 1444);
        assert_eq!(inner(1500, Version::V6, SEALED), 1424);
        assert_eq!(outer(1464, Version::V4, 8), 1500);
        assert_eq!(outer(1444, Version::V6, 8), 1500);
    }
}
