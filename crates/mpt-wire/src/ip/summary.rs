//! One pass over the headers of an inner packet.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Malformed, Version, protocol};
use crate::bytes::{array_at, u8_at, u16_at, u32_at};
use crate::ecn::Ecn;
use crate::{ipv4, ipv6};

/// The most IPv6 extension headers that may precede the upper layer, so that the work per packet is
/// bounded. The order recommended in RFC 8200 section 4.1 needs six; that nodes have such limits is
/// expected (RFC 8883 section 2.2).
const MAX_EXTENSION_HEADERS: usize = 8;

/// All that classification needs to know about an IP packet.
///
/// It is the same for each fragment of a datagram, apart from [`transport`](Self::transport) and
/// [`total_len`](Self::total_len): what stands only in the first fragment is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Summary {
    /// The version; that of both addresses.
    pub version: Version,
    /// The source address.
    pub source: IpAddr,
    /// The destination address, as in the IP header.
    pub destination: IpAddr,
    /// The upper-layer protocol. In IPv6 the one after the extension headers; of a fragment, what
    /// its fragment header names.
    pub protocol: u8,
    /// The IPv4 TOS or IPv6 traffic class: DSCP and ECN.
    pub tos: u8,
    /// The offset of the upper-layer header, at most `total_len`. In a fragment other than the
    /// first, data is there instead.
    pub transport: usize,
    /// Source and destination port of TCP, UDP, SCTP, DCCP and UDP-Lite. `None` for other
    /// protocols, for fragments including the first, and where the packet ends before the ports.
    pub ports: Option<(u16, u16)>,
    /// It is one of several fragments. An IPv6 "atomic" fragment (RFC 6946) is whole.
    pub fragment: bool,
    /// The IPv6 flow label, 0 in IPv4.
    pub flow_label: u32,
    /// The length of the packet by its header, in bytes. The buffer may be longer.
    pub total_len: usize,
}

impl Summary {
    /// Reads the headers of a packet.
    ///
    /// Checksums are not verified, options and extension headers are skipped, and the upper layer
    /// is not looked at beyond its ports.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if `packet` is no whole IP packet.
    #[inline]
    pub fn parse(packet: &[u8]) -> Result<Summary, Malformed> {
        Self::parse_cut_at(packet, |total_len| total_len)
    }

    /// Reads the headers of the beginning of a packet, as an ICMP error quotes it: `total_len` may
    /// be beyond the end of `packet`.
    pub(crate) fn parse_beginning(packet: &[u8]) -> Result<Summary, Malformed> {
        Self::parse_cut_at(packet, |total_len| total_len.min(packet.len()))
    }

    /// The differentiated services codepoint (RFC 2474).
    #[inline]
    pub const fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    /// The ECN field.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_tos(self.tos)
    }

    /// The destination is a multicast group or the limited broadcast address.
    #[inline]
    pub const fn is_multicast(&self) -> bool {
        match self.destination {
            IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
            IpAddr::V6(address) => address.is_multicast(),
        }
    }

    /// One of the addresses is link-local unicast (RFC 3927, RFC 4291 section 2.5.6): such a packet
    /// must not be forwarded off its link.
    #[inline]
    pub const fn is_link_local(&self) -> bool {
        is_link_local(self.source) || is_link_local(self.destination)
    }

    /// `available` maps the header's total length to how many bytes of that must be in `packet`.
    #[inline(always)]
    fn parse_cut_at(
        packet: &[u8],
        available: impl Fn(usize) -> usize,
    ) -> Result<Summary, Malformed> {
        match packet.first().copied().map(Version::of_first_byte) {
            Some(Some(Version::V4)) => Self::parse_v4(packet, available),
            Some(Some(Version::V6)) => Self::parse_v6(packet, available),
            Some(None) => Err(Malformed::Version),
            None => Err(Malformed::Truncated),
        }
    }

    #[inline(always)]
    fn parse_v4(packet: &[u8], available: impl Fn(usize) -> usize) -> Result<Summary, Malformed> {
        if packet.len() < ipv4::HEADER_LEN {
            return Err(Malformed::Truncated);
        }
        let transport = usize::from(u8_at(packet, 0) & 0x0f) * 4;
        let total_len = usize::from(u16_at(packet, 2));
        if transport < ipv4::HEADER_LEN {
            return Err(Malformed::HeaderLength);
        }
        if total_len < transport {
            return Err(Malformed::Length);
        }
        let packet = packet.get(..available(total_len)).ok_or(Malformed::Length)?;
        if packet.len() < transport {
            return Err(Malformed::HeaderLength);
        }
        // More fragments, or an offset.
        let fragment = u16_at(packet, 6) & 0x3fff != 0;
        let protocol = u8_at(packet, 9);
        Ok(Summary {
            version: Version::V4,
            source: IpAddr::V4(Ipv4Addr::from(array_at::<4>(packet, 12))),
            destination: IpAddr::V4(Ipv4Addr::from(array_at::<4>(packet, 16))),
            protocol,
            tos: u8_at(packet, 1),
            transport,
            ports: if fragment { None } else { ports(packet, transport, protocol) },
            fragment,
            flow_label: 0,
            total_len,
        })
    }

    #[inline(always)]
    fn parse_v6(packet: &[u8], available: impl Fn(usize) -> usize) -> Result<Summary, Malformed> {
        if packet.len() < ipv6::HEADER_LEN {
            return Err(Malformed::Truncated);
        }
        let first = u32_at(packet, 0);
        let total_len = ipv6::HEADER_LEN + usize::from(u16_at(packet, 4));
        let packet = packet.get(..available(total_len)).ok_or(Malformed::Length)?;
        let upper = match u8_at(packet, 6) {
            // Nearly every packet has no extension headers.
            protocol @ (protocol::TCP | protocol::UDP | protocol::ICMPV6) => {
                UpperLayer { protocol, offset: ipv6::HEADER_LEN, fragment: false }
            }
            other => skip_extension_headers(packet, other)?,
        };
        let ports = if upper.fragment { None } else { ports(packet, upper.offset, upper.protocol) };
        Ok(Summary {
            version: Version::V6,
            source: IpAddr::V6(Ipv6Addr::from(array_at::<16>(packet, 8))),
            destination: IpAddr::V6(Ipv6Addr::from(array_at::<16>(packet, 24))),
            protocol: upper.protocol,
            tos: ((first >> 20) & 0xff) as u8,
            transport: upper.offset,
            ports,
            fragment: upper.fragment,
            flow_label: first & 0xf_ffff,
            total_len,
        })
    }
}

/// The notation of tcpdump.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.version {
            Version::V4 => "IP",
            Version::V6 => "IP6",
        };
        match self.ports {
            Some((source, destination)) => {
                write!(f, "{name} {}.{source} > {}.{destination}", self.source, self.destination)?;
            }
            None => write!(f, "{name} {} > {}", self.source, self.destination)?,
        }
        write!(f, ": proto {}, length {}", self.protocol, self.total_len)?;
        if self.fragment { f.write_str(", fragment") } else { Ok(()) }
    }
}

/// The end of the chain of extension headers.
struct UpperLayer {
    protocol: u8,
    offset: usize,
    fragment: bool,
}

/// Follows the chain that starts with `next` after the fixed header (RFC 8200 section 4).
///
/// It ends at the fragment header of a real fragment: behind that only the first fragment goes on
/// with headers, and all fragments of a datagram have to look alike.
fn skip_extension_headers(packet: &[u8], mut next: u8) -> Result<UpperLayer, Malformed> {
    let mut offset = ipv6::HEADER_LEN;
    for _ in 0..=MAX_EXTENSION_HEADERS {
        let header = match next {
            protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::DESTINATION_OPTIONS
            | protocol::FRAGMENT
            | protocol::AUTHENTICATION => {
                packet.get(offset..offset + 8).ok_or(Malformed::ExtensionHeaders)?
            }
            protocol => return Ok(UpperLayer { protocol, offset, fragment: false }),
        };
        let len = match next {
            protocol::FRAGMENT => 8,
            // In 4-byte units, minus 2 (RFC 4302 section 2.2).
            protocol::AUTHENTICATION => (usize::from(u8_at(header, 1)) + 2) * 4,
            // In 8-byte units, not counting the first 8 bytes.
            _ => (usize::from(u8_at(header, 1)) + 1) * 8,
        };
        // Offset or M flag; without both it is an atomic fragment (RFC 6946).
        let fragment = next == protocol::FRAGMENT && u16_at(header, 2) & !0b110 != 0;
        next = u8_at(header, 0);
        offset += len;
        if offset > packet.len() {
            return Err(Malformed::ExtensionHeaders);
        }
        if fragment {
            return Ok(UpperLayer { protocol: next, offset, fragment });
        }
    }
    Err(Malformed::ExtensionHeaders)
}

#[inline(always)]
fn ports(packet: &[u8], transport: usize, protocol: u8) -> Option<(u16, u16)> {
    match protocol {
        protocol::TCP | protocol::UDP | protocol::SCTP | protocol::DCCP | protocol::UDP_LITE => {
            let ports = packet.get(transport..transport + 4)?;
            Some((u16_at(ports, 0), u16_at(ports, 2)))
        }
        _ => None,
    }
}

const fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const V4_UDP: [u8; 30] = [
        0x45, 0xb9, 0x00, 0x1e, 0x12, 0x34, 0x40, 0x00, // EF, ECT(1); 30 bytes; DF
        0x40, 0x11, 0x00, 0x00, 10, 0, 0, 1, 10, 0, 0, 2,
        0x04, 0xd2, 0x00, 0x50, 0x00, 0x0a, 0x00, 0x00, 0xaa, 0xbb,
    ];

    fn v6(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x6a, 0xbc, 0xde, 0xf0, 0, payload.len() as u8, next, 64];
        packet.extend("fd00::1".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend("fd00::2".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend(payload);
        packet
    }

    /// Extension headers of 8 (and 16 for AH) bytes in front of ports 1234, 80.
    fn chain(headers: &[u8], last: u8) -> Vec<u8> {
        let mut payload = Vec::new();
        for (index, &header) in headers.iter().enumerate() {
            let next = headers.get(index + 1).copied().unwrap_or(last);
            match header {
                protocol::AUTHENTICATION => {
                    payload.extend([next, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                }
                _ => payload.extend([next, 0, 0, 0, 0, 0, 0, 0]),
            }
        }
        payload.extend([0x04, 0xd2, 0x00, 0x50, 0, 8, 0, 0]);
        v6(headers.first().copied().unwrap_or(last), &payload)
    }

    #[test]
    fn an_ipv4_packet() {
        let summary = Summary::parse(&V4_UDP).unwrap();
        assert_eq!(
            summary,
            Summary {
                version: Version::V4,
                source: "10.0.0.1".parse().unwrap(),
                destination: "10.0.0.2".parse().unwrap(),
                protocol: 17,
                tos: 0xb9,
                transport: 20,
                ports: Some((1234, 80)),
                fragment: false,
                flow_label: 0,
                total_len: 30,
            }
        );
        assert_eq!((summary.dscp(), summary.ecn()), (46, Ecn::Ect1));
        assert_eq!(summary.to_string(), "IP 10.0.0.1.1234 > 10.0.0.2.80: proto 17, length 30");
    }

    #[test]
    fn an_ipv6_packet() {
        let summary = Summary::parse(&chain(&[], 6)).unwrap();
        assert_eq!(
            summary,
            Summary {
                version: Version::V6,
                source: "fd00::1".parse().unwrap(),
                destination: "fd00::2".parse().unwrap(),
                protocol: 6,
                tos: 0xab,
                transport: 40,
                ports: Some((1234, 80)),
                fragment: false,
                flow_label: 0xcdef0,
                total_len: 48,
            }
        );
    }

    #[test]
    fn ipv4_options_are_skipped() {
        let mut packet = vec![0x46, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        packet.extend([1, 1, 1, 0]);
        packet.extend([0, 7, 0, 8, 0, 8, 0, 0]);
        let summary = Summary::parse(&packet).unwrap();
        assert_eq!((summary.transport, summary.ports), (24, Some((7, 8))));
    }

    #[test]
    fn a_longer_buffer_is_fine_and_a_shorter_one_is_not() {
        let mut longer = V4_UDP.to_vec();
        longer.extend([0; 16]);
        assert_eq!(Summary::parse(&longer).unwrap().total_len, 30);
        assert_eq!(Summary::parse(&V4_UDP[..29]), Err(Malformed::Length));
        let mut longer = chain(&[], 17);
        longer.extend([0; 16]);
        assert_eq!(Summary::parse(&longer).unwrap().total_len, 48);
        assert_eq!(Summary::parse(&longer[..47]), Err(Malformed::Length));
    }

    #[test]
    fn headers_that_cannot_be() {
        assert_eq!(Summary::parse(&[]), Err(Malformed::Truncated));
        assert_eq!(Summary::parse(&V4_UDP[..19]), Err(Malformed::Truncated));
        assert_eq!(Summary::parse(&[0x60; 39]), Err(Malformed::Truncated));
        assert_eq!(Summary::parse(&[0x50; 60]), Err(Malformed::Version));
        let mut packet = V4_UDP;
        packet[0] = 0x44;
        assert_eq!(Summary::parse(&packet), Err(Malformed::HeaderLength));
        packet[0] = 0x48; // 32 of 30 bytes
        assert_eq!(Summary::parse(&packet), Err(Malformed::Length));
    }

    #[test]
    fn ports_that_are_not_there() {
        let mut packet = V4_UDP;
        packet[3] = 23;
        assert_eq!(Summary::parse(&packet).unwrap().ports, None);
        packet[3] = 24;
        assert_eq!(Summary::parse(&packet).unwrap().ports, Some((1234, 80)));
        packet[9] = 47;
        assert_eq!(Summary::parse(&packet).unwrap().ports, None);
    }

    #[test]
    fn all_ipv4_fragments_look_alike() {
        let fragment = |flags_and_offset: [u8; 2]| {
            let mut packet = V4_UDP;
            packet[6..8].copy_from_slice(&flags_and_offset);
            Summary::parse(&packet).unwrap()
        };
        let first = fragment([0x20, 0x00]);
        assert!(first.fragment);
        assert_eq!(first.ports, None);
        assert_eq!(fragment([0x20, 0x01]), first);
        assert_eq!(fragment([0x1f, 0xff]), first);
        assert!(!fragment([0x40, 0x00]).fragment);
        assert!(!fragment([0x80, 0x00]).fragment, "the reserved bit means nothing");
    }

    #[test]
    fn extension_headers_are_skipped() {
        use protocol::{AUTHENTICATION, DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, ROUTING};
        for (headers, transport) in [
            (&[HOP_BY_HOP][..], 48),
            (&[HOP_BY_HOP, DESTINATION_OPTIONS, ROUTING], 64),
            (&[AUTHENTICATION], 56),
            (&[HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS], 88),
        ] {
            let summary = Summary::parse(&chain(headers, 17)).unwrap();
            assert_eq!(summary.transport, transport, "{headers:?}");
            assert_eq!((summary.protocol, summary.ports), (17, Some((1234, 80))), "{headers:?}");
            assert!(!summary.fragment);
        }
    }

    #[test]
    fn a_long_extension_header() {
        let mut payload = vec![17, 2];
        payload.extend([0; 22]);
        payload.extend([0x04, 0xd2, 0x00, 0x50]);
        let summary = Summary::parse(&v6(protocol::HOP_BY_HOP, &payload)).unwrap();
        assert_eq!((summary.transport, summary.ports), (64, Some((1234, 80))));
        let cut = v6(protocol::HOP_BY_HOP, &payload[..23]);
        assert_eq!(Summary::parse(&cut), Err(Malformed::ExtensionHeaders));
    }

    #[test]
    fn the_chain_of_extension_headers_is_bounded() {
        let headers = [protocol::DESTINATION_OPTIONS; MAX_EXTENSION_HEADERS + 1];
        let most = chain(&headers[1..], 17);
        assert_eq!(Summary::parse(&most).unwrap().transport, 40 + 8 * MAX_EXTENSION_HEADERS);
        assert_eq!(Summary::parse(&chain(&headers, 17)), Err(Malformed::ExtensionHeaders));
    }

    #[test]
    fn all_ipv6_fragments_look_alike() {
        // Destination options follow the fragment header in the first fragment only.
        let fragment = |offset_and_more: u16| {
            let [high, low] = offset_and_more.to_be_bytes();
            let header = [60, 0, high, low, 0, 0, 0, 1];
            let rest = [17, 0, 0, 0, 0, 0, 0, 0, 0x04, 0xd2, 0x00, 0x50];
            Summary::parse(&v6(44, &[&header[..], &rest].concat())).unwrap()
        };
        let first = fragment(0x0001);
        assert!(first.fragment);
        assert_eq!((first.protocol, first.ports, first.transport), (60, None, 48));
        assert_eq!(fragment(0x0009), first);
        assert_eq!(fragment(0xfff8), first);
        // Atomic (RFC 6946), whatever the reserved bits.
        for atomic in [fragment(0x0000), fragment(0x0006)] {
            assert!(!atomic.fragment);
            assert_eq!((atomic.protocol, atomic.ports), (17, Some((1234, 80))));
        }
    }

    #[test]
    fn a_packet_without_upper_layer() {
        let summary = Summary::parse(&v6(59, &[])).unwrap();
        assert_eq!((summary.protocol, summary.transport, summary.ports), (59, 40, None));
        let summary = Summary::parse(&v6(50, &[1, 2, 3])).unwrap();
        assert_eq!((summary.protocol, summary.ports), (50, None));
    }

    #[test]
    fn multicast_and_link_local() {
        let with_destination = |address: [u8; 4]| {
            let mut packet = V4_UDP;
            packet[16..20].copy_from_slice(&address);
            let summary = Summary::parse(&packet).unwrap();
            (summary.is_multicast(), summary.is_link_local())
        };
        assert_eq!(with_destination([10, 0, 0, 2]), (false, false));
        assert_eq!(with_destination([224, 0, 0, 5]), (true, false));
        assert_eq!(with_destination([255, 255, 255, 255]), (true, false));
        assert_eq!(with_destination([169, 254, 1, 1]), (false, true));
        let mut packet = chain(&[], 17);
        packet[24..26].copy_from_slice(&[0xff, 0x02]);
        packet[8..10].copy_from_slice(&[0xfe, 0x80]);
        let summary = Summary::parse(&packet).unwrap();
        assert!(summary.is_multicast() && summary.is_link_local());
    }
}
