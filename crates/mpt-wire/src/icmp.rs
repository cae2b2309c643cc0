//! ICMP errors (RFC 792, RFC 4443): "too big" written, and what an error quotes read.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Type      |     Code      |          Checksum             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     unused (IPv6: MTU)        |       MTU of the next hop     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           As much of the packet it is about as fits           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bytes::{set_u8_at, set_u16_at, set_u32_at, u8_at, u16_at, u32_at};
use crate::checksum::{Sum, pseudo_header_v6};
use crate::ip::{Summary, Version, protocol};
use crate::{ipv4, ipv6};

/// The length of the ICMP header of an error, before what it quotes, in bytes.
pub const HEADER_LEN: usize = 8;

/// A buffer of this length is large enough for everything [`too_big`] writes, in bytes.
pub const MAX_TOO_BIG_LEN: usize = MAX_LEN_V6;

/// The longest ICMPv4 error (RFC 1812 section 4.3.2.3), in bytes, IP header included.
const MAX_LEN_V4: usize = ipv4::MIN_ACCEPTED_LEN;

/// The longest ICMPv6 error: the minimum IPv6 MTU (RFC 4443 section 2.4 (c)), in bytes.
const MAX_LEN_V6: usize = ipv6::MIN_MTU;

/// The payload that an ICMPv4 error has to quote at least: 8 bytes behind the IP header (RFC 792).
const MIN_QUOTED_PAYLOAD: usize = 8;

const V4_DESTINATION_UNREACHABLE: u8 = 3;
const V4_SOURCE_QUENCH: u8 = 4;
const V4_REDIRECT: u8 = 5;
const V4_TIME_EXCEEDED: u8 = 11;
const V4_PARAMETER_PROBLEM: u8 = 12;
/// The code of "destination unreachable" for: fragmentation needed and DF set.
const V4_FRAGMENTATION_NEEDED: u8 = 4;

const V6_DESTINATION_UNREACHABLE: u8 = 1;
const V6_PACKET_TOO_BIG: u8 = 2;
const V6_PARAMETER_PROBLEM: u8 = 4;
/// Types from here on are informational (RFC 4443 section 2.1).
const V6_INFORMATIONAL: u8 = 128;
const V6_REDIRECT: u8 = 137;

/// Precedence 6, internetwork control (RFC 1812 section 4.3.2.5).
const TOS_V4: u8 = 0xc0;
/// Enough to reach every host (RFC 1700, "IP time to live parameter").
const HOPS: u8 = 64;

/// Writes the answer to a packet that does not fit into `mtu` bytes: ICMPv4 "fragmentation needed"
/// (RFC 1191 section 4) or ICMPv6 "packet too big" (RFC 4443 section 3.2), from `reply_source` to
/// the source of `packet`. Gives its length, at most [`MAX_TOO_BIG_LEN`].
///
/// As much of the packet is quoted as the RFCs and `buffer` allow. DF of an IPv4 packet is not
/// examined, since a host that cannot fragment the packet has no other answer.
///
/// `None`, and nothing written, where no error may be sent (RFC 1812 section 4.3.2.7, RFC 4443
/// section 2.4 (e)): about an ICMP error or redirect, about a fragment other than the first, about
/// what went to an IPv4 multicast or broadcast address, and to a source or from a `reply_source`
/// that is not one host. Also if `packet` is malformed, `reply_source` of the other version, or
/// `buffer` too short for the least that has to be quoted.
pub fn too_big(packet: &[u8], mtu: u16, reply_source: IpAddr, buffer: &mut [u8]) -> Option<usize> {
    let summary = Summary::parse(packet).ok()?;
    let packet = packet.get(..summary.total_len)?;
    if !may_be_answered(packet, &summary) || !is_one_host(reply_source) {
        return None;
    }
    match (reply_source, summary.source) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let least = packet.len().min(summary.transport + MIN_QUOTED_PAYLOAD);
            let quoted = quote(packet, least, ipv4::HEADER_LEN, MAX_LEN_V4, buffer)?;
            let message_len = HEADER_LEN + quoted;
            ipv4::Repr {
                source,
                destination,
                protocol: protocol::ICMP,
                tos: TOS_V4,
                identification: 0,
                dont_fragment: true,
                ttl: HOPS,
                payload_len: u16::try_from(message_len).ok()?,
            }
            .emit(buffer);
            let message = buffer.get_mut(ipv4::HEADER_LEN..)?.get_mut(..message_len)?;
            set_u8_at(message, 0, V4_DESTINATION_UNREACHABLE);
            set_u8_at(message, 1, V4_FRAGMENTATION_NEEDED);
            set_u32_at(message, 4, mtu.into());
            fill_checksum(message, Sum::new());
            Some(ipv4::HEADER_LEN + message_len)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let about = (packet, &summary);
            error_v6((V6_PACKET_TOO_BIG, 0), mtu.into(), about, (source, destination), buffer)
        }
        _ => None,
    }
}

/// Writes ICMPv6 "destination unreachable", "no route to destination" (RFC 4443 section 3.1), from
/// `reply_source` to the source of `packet`. Gives its length, at most [`MAX_TOO_BIG_LEN`].
///
/// `None`, and nothing written, for an IPv4 packet, for one to a multicast address, and where
/// [`too_big`] writes nothing.
pub fn no_route(packet: &[u8], reply_source: IpAddr, buffer: &mut [u8]) -> Option<usize> {
    let summary = Summary::parse(packet).ok()?;
    let packet = packet.get(..summary.total_len)?;
    let answered = may_be_answered(packet, &summary) && !summary.is_multicast();
    match (reply_source, summary.source) {
        (IpAddr::V6(source), IpAddr::V6(destination)) if answered && is_one_host(reply_source) => {
            let about = (packet, &summary);
            error_v6((V6_DESTINATION_UNREACHABLE, 0), 0, about, (source, destination), buffer)
        }
        _ => None,
    }
}

/// Writes an ICMPv6 error of this type and code.
fn error_v6(
    (kind, code): (u8, u8),
    parameter: u32,
    (packet, summary): (&[u8], &Summary),
    (source, destination): (Ipv6Addr, Ipv6Addr),
    buffer: &mut [u8],
) -> Option<usize> {
    let least = packet.len().min(summary.transport + MIN_QUOTED_PAYLOAD);
    let quoted = quote(packet, least, ipv6::HEADER_LEN, MAX_LEN_V6, buffer)?;
    let message_len = HEADER_LEN + quoted;
    ipv6::Repr {
        source,
        destination,
        next_header: protocol::ICMPV6,
        traffic_class: 0,
        flow_label: 0,
        hop_limit: HOPS,
        payload_len: u16::try_from(message_len).ok()?,
    }
    .emit(buffer);
    let message = buffer.get_mut(ipv6::HEADER_LEN..)?.get_mut(..message_len)?;
    set_u8_at(message, 0, kind);
    set_u8_at(message, 1, code);
    set_u32_at(message, 4, parameter);
    let len = u32::try_from(message_len).ok()?;
    fill_checksum(message, pseudo_header_v6(source, destination, protocol::ICMPV6, len));
    Some(ipv6::HEADER_LEN + message_len)
}

/// True if a packet is an ICMP error, which speaks about another packet: ICMPv4 "destination
/// unreachable", "source quench", "redirect", "time exceeded" and "parameter problem" (RFC 1122
/// section 3.2.2), ICMPv6 types below 128 (RFC 4443 section 2.1).
///
/// `summary` is that of `packet`. A fragment other than the first does not tell: `false`.
#[inline]
pub fn is_error(packet: &[u8], summary: &Summary) -> bool {
    let Some(kind) = message_type(packet, summary) else {
        return false;
    };
    match summary.version {
        Version::V4 => matches!(
            kind,
            V4_DESTINATION_UNREACHABLE
                | V4_SOURCE_QUENCH
                | V4_REDIRECT
                | V4_TIME_EXCEEDED
                | V4_PARAMETER_PROBLEM
        ),
        Version::V6 => kind < V6_INFORMATIONAL,
    }
}

/// True if a packet is an ICMP error that reports a packet as not delivered: ICMPv4 "destination
/// unreachable", "time exceeded" and "parameter problem" (RFC 792), ICMPv6 types 1 to 4 (RFC 4443
/// section 3). A redirect and a "source quench" (deprecated by RFC 6633) do not.
///
/// `summary` is that of `packet`. A fragment other than the first does not tell: `false`.
#[inline]
pub fn is_delivery_failure(packet: &[u8], summary: &Summary) -> bool {
    let Some(kind) = message_type(packet, summary) else {
        return false;
    };
    match summary.version {
        Version::V4 => {
            matches!(kind, V4_DESTINATION_UNREACHABLE | V4_TIME_EXCEEDED | V4_PARAMETER_PROBLEM)
        }
        Version::V6 => (V6_DESTINATION_UNREACHABLE..=V6_PARAMETER_PROBLEM).contains(&kind),
    }
}

/// The longest ICMP error that a router sends (RFC 1812 section 4.3.2.3, RFC 4443 section 2.4 (c)),
/// in bytes, IP header included. Extensions (RFC 4884) count as well.
pub const fn max_error_len(version: Version) -> usize {
    match version {
        Version::V4 => MAX_LEN_V4,
        Version::V6 => MAX_LEN_V6,
    }
}

/// The content of an ICMP error and the packet that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted<'a> {
    /// The packet the error is about. Its `total_len` is what it had before it was cut.
    pub summary: Summary,
    /// The MTU of the next hop, if the packet was too big for it, in bytes. Routers older than
    /// RFC 1191 say 0.
    pub mtu: Option<u32>,
    /// The packet as far as it is quoted, perhaps with extensions (RFC 4884) behind it.
    pub bytes: &'a [u8],
}

impl<'a> Quoted<'a> {
    /// Reads an ICMP error. `summary` is that of `packet`.
    ///
    /// `None` if it is no error, a fragment of one, or does not quote enough of an IP packet of its
    /// own version. The ICMP checksum is not verified.
    pub fn parse(packet: &'a [u8], summary: &Summary) -> Option<Quoted<'a>> {
        if summary.fragment || !is_error(packet, summary) {
            return None;
        }
        let message = packet.get(summary.transport..summary.total_len)?;
        let bytes = message.get(HEADER_LEN..)?;
        let quoted = Summary::parse_beginning(bytes).ok()?;
        let mtu = match (summary.version, u8_at(message, 0), u8_at(message, 1)) {
            (Version::V4, V4_DESTINATION_UNREACHABLE, V4_FRAGMENTATION_NEEDED) => {
                Some(u16_at(message, 6).into())
            }
            (Version::V6, V6_PACKET_TOO_BIG, _) => Some(u32_at(message, 4)),
            _ => None,
        };
        (quoted.version == summary.version).then_some(Quoted { summary: quoted, mtu, bytes })
    }
}

/// The ICMP type, if it is an ICMP message or the first fragment of one. Bytes behind the packet do not count.
#[inline]
fn message_type(packet: &[u8], summary: &Summary) -> Option<u8> {
    let icmp = match summary.version {
        Version::V4 => protocol::ICMP,
        Version::V6 => protocol::ICMPV6,
    };
    if summary.protocol != icmp || is_later_fragment(packet, summary) {
        return None;
    }
    packet.get(summary.transport..summary.total_len)?.first().copied()
}

fn is_later_fragment(packet: &[u8], summary: &Summary) -> bool {
    if !summary.fragment {
        return false;
    }
    let offset = match summary.version {
        Version::V4 => packet.get(6..8).map(|field| u16_at(field, 0) & 0x1fff),
        // The fragment header is the last one that was read (RFC 8200 section 4.5).
        Version::V6 => {
            let header = summary.transport.checked_sub(8).and_then(|at| packet.get(at..at + 8));
            header.map(|header| u16_at(header, 2) >> 3)
        }
    };
    offset != Some(0)
}

fn may_be_answered(packet: &[u8], summary: &Summary) -> bool {
    let redirect =
        summary.version == Version::V6 && message_type(packet, summary) == Some(V6_REDIRECT);
    // "Packet too big" is the exception that may be about IPv6 multicast (RFC 4443 section 2.4
    // (e.3)), so that path MTU discovery works there.
    let multicast = summary.version == Version::V4 && summary.is_multicast();
    is_one_host(summary.source)
        && !multicast
        && !redirect
        && !is_error(packet, summary)
        && !is_later_fragment(packet, summary)
}

/// An address that can name a single host other than this one. Which IPv4 addresses are broadcasts
/// of some network is not known here, except the limited one.
fn is_one_host(address: IpAddr) -> bool {
    match address {
        // 0/8 is "this network"; from 224/4 on there are groups, class E and the broadcast address.
        IpAddr::V4(address) => {
            let network = address.octets()[0];
            network != 0 && network != Ipv4Addr::LOCALHOST.octets()[0] && network < 224
        }
        IpAddr::V6(address) => {
            !address.is_unspecified() && !address.is_loopback() && !address.is_multicast()
        }
    }
}

/// Copies the beginning of `packet` behind the headers: how many bytes. `None` if less than `least`
/// fits.
fn quote(
    packet: &[u8],
    least: usize,
    ip_header: usize,
    max_len: usize,
    buffer: &mut [u8],
) -> Option<usize> {
    let room = max_len.min(buffer.len()).checked_sub(ip_header + HEADER_LEN)?;
    let len = packet.len().min(room);
    // More than RFC 1812 allows cannot be required either.
    if len < least.min(max_len - ip_header - HEADER_LEN) {
        return None;
    }
    let quoted = buffer.get_mut(ip_header + HEADER_LEN..)?.get_mut(..len)?;
    quoted.copy_from_slice(packet.get(..len)?);
    Some(len)
}

/// Computes the checksum of an ICMP message: over the message alone in IPv4, with the pseudo-header
/// in IPv6 (RFC 4443 section 2.3).
fn fill_checksum(message: &mut [u8], pseudo_header: Sum) {
    set_u16_at(message, 2, 0);
    let mut sum = pseudo_header;
    sum.add_bytes(message);
    set_u16_at(message, 2, sum.finish());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp;

    fn v4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        ipv4::Repr { protocol, payload_len: payload.len() as u16, ..ipv4::tests::REPR }
            .emit(&mut packet);
        packet.extend(payload);
        packet
    }

    fn v6(next_header: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 40];
        ipv6::Repr { next_header, payload_len: payload.len() as u16, ..ipv6::tests::REPR }
            .emit(&mut packet);
        packet.extend(payload);
        packet
    }

    fn datagram(len: usize) -> Vec<u8> {
        let mut bytes = vec![0xa5; len];
        let payload_len = (len - 8) as u16;
        udp::Repr { source_port: 1234, destination_port: 80, payload_len }.emit(&mut bytes);
        bytes
    }

    fn router(version: Version) -> IpAddr {
        match version {
            Version::V4 => "10.9.9.9".parse().unwrap(),
            Version::V6 => "fd00::9".parse().unwrap(),
        }
    }

    fn answer(packet: &[u8]) -> Option<Vec<u8>> {
        let version = Version::of_first_byte(packet[0]).unwrap();
        let mut buffer = [0xee; MAX_TOO_BIG_LEN];
        too_big(packet, 1400, router(version), &mut buffer).map(|len| buffer[..len].to_vec())
    }

    #[test]
    fn fragmentation_needed() {
        let packet = v4(17, &datagram(9));
        #[rustfmt::skip]
        let expected = [
            0x45, 0xc0, 0x00, 0x39, 0x00, 0x00, 0x40, 0x00, 0x40, 0x01, 0x1c, 0xf2,
            10, 9, 9, 9, 10, 0, 0, 1,
            0x03, 0x04, 0x4d, 0x58, 0x00, 0x00, 0x05, 0x78,
            // quoted
            0x45, 0xb8, 0x00, 0x1d, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x13, 0xe2,
            10, 0, 0, 1, 10, 0, 0, 2,
            0x04, 0xd2, 0x00, 0x50, 0x00, 0x09, 0x00, 0x00, 0xa5,
        ];
        assert_eq!(answer(&packet).unwrap(), expected);
    }

    #[test]
    fn what_is_too_big_is_quoted_and_read_again() {
        for (packet, len, header) in [
            (v4(17, &datagram(1480)), 576, 20),
            (v4(17, &datagram(520)), 568, 20),
            (v6(17, &datagram(1460)), 1280, 40),
            (v6(17, &datagram(1000)), 1088, 40),
        ] {
            let mut longer = packet.clone();
            longer.extend([0xff; 3000]);
            let message = answer(&longer).unwrap();
            assert_eq!(message.len(), len);
            let summary = Summary::parse(&message).unwrap();
            let original = Summary::parse(&packet).unwrap();
            assert_eq!(summary.source, router(summary.version));
            assert_eq!(summary.destination, original.source);
            let quoted = Quoted::parse(&message, &summary).unwrap();
            assert_eq!(quoted.summary, original);
            assert_eq!(quoted.mtu, Some(1400));
            assert_eq!(quoted.bytes, &packet[..len - header - 8]);
            assert_eq!(Quoted::parse(&packet, &original), None);
        }
    }

    #[test]
    fn the_checksum_covers_the_message_and_in_ipv6_the_pseudo_header() {
        let message = answer(&v4(17, &datagram(700))).unwrap();
        let mut sum = Sum::new();
        sum.add_bytes(&message[20..]);
        assert_eq!(sum.fold(), 0xffff);
        assert!(ipv4::Packet::new_checked(&message).unwrap().verify_checksum());
        let message = answer(&v6(17, &datagram(701))).unwrap();
        let mut sum = Sum::new();
        sum.add_bytes(&message[8..40]);
        sum.add_u32(message.len() as u32 - 40);
        sum.add_u32(58);
        sum.add_bytes(&message[40..]);
        assert_eq!(sum.fold(), 0xffff);
    }

    #[test]
    fn no_route_is_said_of_ipv6_alone() {
        let mut buffer = [0; MAX_TOO_BIG_LEN];
        let packet = v6(17, &datagram(100));
        let len = no_route(&packet, router(Version::V6), &mut buffer).unwrap();
        assert_eq!(
            (len, &buffer[40..42], &buffer[44..48]),
            (48 + packet.len(), &[1, 0][..], &[0; 4][..])
        );
        let message = &buffer[..len];
        let summary = Summary::parse(message).unwrap();
        assert_eq!(Quoted::parse(message, &summary).unwrap().bytes, packet);
        let error = message.to_vec();
        assert_eq!(no_route(&error, router(Version::V6), &mut buffer), None, "about an error");
        assert_eq!(no_route(&v4(17, &datagram(100)), router(Version::V4), &mut buffer), None);
    }

    #[test]
    fn a_short_buffer_shortens_the_quote() {
        for packet in [v4(17, &datagram(1000)), v6(17, &datagram(1000))] {
            let summary = Summary::parse(&packet).unwrap();
            // Two IP headers, the ICMP header, and 8 bytes of the payload.
            let least = summary.version.header_len() * 2 + 16;
            let mut buffer = [0xee; 1280];
            for len in 0..least {
                let source = router(summary.version);
                assert_eq!(too_big(&packet, 1400, source, &mut buffer[..len]), None);
                assert_eq!(buffer, [0xee; 1280], "written though there is no room");
            }
            for len in least..300 {
                let source = router(summary.version);
                assert_eq!(too_big(&packet, 1400, source, &mut buffer[..len]), Some(len));
            }
        }
    }

    #[test]
    fn errors_are_not_answered() {
        for (kind, error) in
            [(0, false), (3, true), (4, true), (5, true), (8, false), (11, true), (12, true)]
        {
            let packet = v4(1, &[kind, 0, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(is_error(&packet, &Summary::parse(&packet).unwrap()), error, "type {kind}");
            assert_eq!(answer(&packet).is_none(), error, "type {kind}");
        }
        for (kind, error) in
            [(1, true), (2, true), (3, true), (4, true), (127, true), (128, false), (135, false)]
        {
            let packet = v6(58, &[kind, 0, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(is_error(&packet, &Summary::parse(&packet).unwrap()), error, "type {kind}");
            assert_eq!(answer(&packet).is_none(), error, "type {kind}");
        }
        assert_eq!(answer(&v6(58, &[137, 0, 0, 0])), None, "a redirect");
        // The protocol numbers of the other version.
        for packet in [v4(58, &[1, 0, 0, 0]), v6(1, &[3, 0, 0, 0]), v4(1, &[]), v6(58, &[])] {
            assert!(!is_error(&packet, &Summary::parse(&packet).unwrap()));
        }
    }

    #[test]
    fn what_comes_behind_a_packet_is_no_type() {
        for (mut packet, error) in [(v4(1, &[]), 3), (v6(58, &[]), 1)] {
            packet.push(error);
            assert!(!is_error(&packet, &Summary::parse(&packet).unwrap()));
            assert!(answer(&packet).is_some());
        }
    }

    #[test]
    fn only_the_first_fragment_is_answered() {
        for (offset, answered) in [(0x2000u16, true), (0x2001, false), (0x0001, false)] {
            let mut packet = v4(17, &datagram(100));
            packet[6..8].copy_from_slice(&offset.to_be_bytes());
            assert_eq!(answer(&packet).is_some(), answered, "0x{offset:04x}");
            packet[9] = 1;
            packet[20] = 3;
            assert_eq!(is_error(&packet, &Summary::parse(&packet).unwrap()), answered);
        }
        for (offset, answered) in [(0x0001u16, true), (0x0009, false), (0x0008, false)] {
            let [high, low] = offset.to_be_bytes();
            let fragment = [&[17, 0, high, low, 0, 0, 0, 1], &datagram(100)[..]].concat();
            assert_eq!(answer(&v6(44, &fragment)).is_some(), answered, "0x{offset:04x}");
        }
    }

    #[test]
    fn addresses_that_are_not_one_host_get_no_answer() {
        for source in [[0, 0, 0, 0], [127, 0, 0, 1], [224, 0, 0, 1], [240, 0, 0, 1], [255; 4]] {
            let mut packet = v4(17, &datagram(100));
            packet[12..16].copy_from_slice(&source);
            assert_eq!(answer(&packet), None, "from {source:?}");
            let packet = v4(17, &datagram(100));
            assert_eq!(too_big(&packet, 1400, source.into(), &mut [0; 1280]), None);
        }
        for destination in [[224, 0, 0, 5], [255; 4]] {
            let mut packet = v4(17, &datagram(100));
            packet[16..20].copy_from_slice(&destination);
            assert_eq!(answer(&packet), None, "to {destination:?}");
        }
        for source in ["::", "::1", "ff02::1"] {
            let source: Ipv6Addr = source.parse().unwrap();
            let mut packet = v6(17, &datagram(100));
            packet[8..24].copy_from_slice(&source.octets());
            assert_eq!(answer(&packet), None, "from {source}");
            let packet = v6(17, &datagram(100));
            assert_eq!(too_big(&packet, 1400, source.into(), &mut [0; 1280]), None);
        }
        let mut packet = v6(17, &datagram(100));
        packet[24] = 0xff;
        assert!(answer(&packet).is_some(), "RFC 4443 section 2.4 (e.3)");
    }

    #[test]
    fn the_other_version_and_malformed_packets_get_no_answer() {
        let packet = v4(17, &datagram(100));
        assert_eq!(too_big(&packet, 1400, router(Version::V6), &mut [0; 1280]), None);
        assert_eq!(too_big(&packet[..50], 1400, router(Version::V4), &mut [0; 1280]), None);
        assert_eq!(too_big(&[], 1400, router(Version::V4), &mut [0; 1280]), None);
    }

    #[test]
    fn other_errors_quote_without_an_mtu() {
        let inner = v4(17, &datagram(100));
        let error = v4(1, &[&[11, 0, 0, 0, 0, 0, 0x12, 0x34], &inner[..28]].concat());
        let quoted = Quoted::parse(&error, &Summary::parse(&error).unwrap()).unwrap();
        assert_eq!(quoted.mtu, None);
        assert_eq!(quoted.summary.ports, Some((1234, 80)));
        assert_eq!(quoted.summary.total_len, 120);
        assert_eq!(quoted.bytes.len(), 28);
    }

    #[test]
    fn quotes_that_are_too_short_or_of_the_other_version() {
        let quoted = |error: &[u8]| Quoted::parse(error, &Summary::parse(error).unwrap()).is_some();
        let (inner4, inner6) = (v4(17, &datagram(100)), v6(17, &datagram(100)));
        let header = [3, 4, 0, 0, 0, 0, 0, 0];
        assert!(quoted(&v4(1, &[&header, &inner4[..20]].concat())));
        assert!(!quoted(&v4(1, &[&header, &inner4[..19]].concat())));
        assert!(!quoted(&v4(1, &[&header, &inner6[..]].concat())));
        assert!(!quoted(&v6(58, &[&header, &inner4[..]].concat())));
        assert!(quoted(&v6(58, &[&header, &inner6[..40]].concat())));
        assert!(!quoted(&v4(1, &header[..7])));
    }
}
