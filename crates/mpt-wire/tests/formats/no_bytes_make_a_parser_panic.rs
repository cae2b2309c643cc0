//! Fuzz targets that are ordinary tests, too: whatever the bytes, nothing panics, and what the
//! parsers say about them holds together.

use std::net::IpAddr;

use mpt_wire::checksum::{Sum, pseudo_header_v4, pseudo_header_v6};
use mpt_wire::ecn::{self, Ecn};
use mpt_wire::gre;
use mpt_wire::icmp::{self, MAX_TOO_BIG_LEN, Quoted};
use mpt_wire::ip::{Summary, Version, protocol};
use mpt_wire::tcp::mss::{self, ChecksumState};
use mpt_wire::{ipv4, ipv6, tcp, udp};

const ITERATIONS: usize = 20_000;

/// Bytes, and what makes an IP packet of them: random bytes alone hardly ever have a length field
/// that fits, let alone an option or a quoted packet.
#[derive(Debug, bolero::TypeGenerator)]
struct Packet {
    /// Nothing is made of them if `None`.
    shape: Option<Shape>,
    #[generator(bolero::generator::produce::<Vec<u8>>().with().len(0usize..200))]
    bytes: Vec<u8>,
    /// Damage at the end.
    #[generator(bolero::generator::produce::<Vec<(u8, u8)>>().with().len(0usize..3))]
    patches: Vec<(u8, u8)>,
}

#[derive(Clone, Copy, Debug, bolero::TypeGenerator)]
struct Shape {
    v6: bool,
    extensions: [Option<Extension>; 3],
    upper: Upper,
}

#[derive(Clone, Copy, Debug, bolero::TypeGenerator)]
enum Extension {
    HopByHop,
    Routing,
    Fragment,
    Authentication,
    DestinationOptions,
}

#[derive(Clone, Copy, Debug, bolero::TypeGenerator)]
enum Upper {
    /// Data offset, and where an MSS option is.
    Tcp(u8, u8),
    Udp,
    /// The type, and whether it quotes a packet.
    Icmp(u8, bool),
    Other(u8),
}

impl Packet {
    fn build(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if let Some(shape) = &self.shape {
            let transport = shape.apply(&mut bytes);
            if let (Upper::Icmp(_, true), Some(quote)) =
                (shape.upper, bytes.get_mut(transport + 8..))
            {
                Shape { upper: Upper::Udp, ..*shape }.apply(quote);
            }
        }
        for (at, value) in &self.patches {
            if let Some(byte) = bytes.get_mut(usize::from(*at)) {
                *byte = *value;
            }
        }
        bytes
    }
}

impl Shape {
    /// Makes a packet of the bytes, if they are enough: the offset of the upper layer.
    fn apply(&self, bytes: &mut [u8]) -> usize {
        let len = bytes.len();
        let transport = if self.v6 {
            if len < 40 {
                return len;
            }
            bytes[0] = 0x60 | bytes[0] & 0x0f;
            bytes[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
            self.chain(bytes)
        } else {
            if len < 20 {
                return len;
            }
            bytes[0] = 0x45 + (bytes[0] & 1);
            bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            // No fragment; the network of the source is one that may be answered.
            bytes[6..8].copy_from_slice(&[0x40, 0]);
            bytes[9] = self.protocol();
            bytes[12] = 10;
            usize::from(bytes[0] & 0x0f) * 4
        };
        let Some(upper) = bytes.get_mut(transport..) else { return len };
        match self.upper {
            Upper::Tcp(data_offset, option) if upper.len() >= 20 => {
                upper[12] = (5 + data_offset % 11) << 4;
                let option = 20 + usize::from(option % 8);
                let padding = option.min(upper.len());
                upper[20..padding].fill(tcp::option::NO_OPERATION);
                if let Some(option) = upper.get_mut(option..option + 2) {
                    option.copy_from_slice(&[tcp::option::MAXIMUM_SEGMENT_SIZE, 4]);
                }
            }
            Upper::Icmp(kind, _) if !upper.is_empty() => upper[0] = kind % 16,
            _ => {}
        }
        transport
    }

    fn chain(&self, bytes: &mut [u8]) -> usize {
        let (mut field, mut transport) = (6, 40);
        for extension in self.extensions.into_iter().flatten() {
            let Some(header) = bytes.get_mut(transport..transport + 8) else { break };
            let (number, len) = match extension {
                Extension::HopByHop => (protocol::HOP_BY_HOP, 8),
                Extension::Routing => (protocol::ROUTING, 8),
                Extension::Fragment => (protocol::FRAGMENT, 8),
                Extension::Authentication => (protocol::AUTHENTICATION, 12),
                Extension::DestinationOptions => (protocol::DESTINATION_OPTIONS, 8),
            };
            header[1] = u8::from(len == 12);
            if number == protocol::FRAGMENT {
                // One in four is a real fragment.
                header[2] = 0;
                header[3] &= if header[3] & 0xc0 == 0 { 0x09 } else { 0 };
            }
            bytes[field] = number;
            (field, transport) = (transport, transport + len);
        }
        bytes[field] = self.protocol();
        transport
    }

    const fn protocol(&self) -> u8 {
        match self.upper {
            Upper::Tcp(..) => protocol::TCP,
            Upper::Udp => protocol::UDP,
            Upper::Icmp(..) if self.v6 => protocol::ICMPV6,
            Upper::Icmp(..) => protocol::ICMP,
            Upper::Other(number) => number,
        }
    }
}

/// A GRE packet, sometimes with a right checksum.
#[derive(Debug, bolero::TypeGenerator)]
struct Gre {
    flags: Option<u8>,
    right_checksum: bool,
    bytes: Vec<u8>,
}

impl Gre {
    fn build(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if let (Some(flags), [first, second, ..]) = (self.flags, &mut bytes[..]) {
            // Nothing that has to be refused.
            *first = flags & 0xb3;
            *second &= 0xf8;
        }
        if self.right_checksum {
            gre::Repr::fill_checksum(&mut bytes, Sum::new());
        }
        bytes
    }
}

#[test]
fn fuzz_gre() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<Gre>().for_each(|packet| {
        let bytes = packet.build();
        let view = gre::Header::new_checked(&bytes);
        match gre::Repr::parse(&bytes) {
            Ok((repr, offset)) => {
                let view = view.expect("a parsed header");
                assert_eq!((repr, offset), (view.repr(), view.header_len()));
                assert_eq!(offset, repr.header_len());
                assert_eq!(view.payload(), &bytes[offset..]);
                // Emitting gives the header back, apart from what is ignored on receipt.
                let mut again = vec![0; offset];
                repr.emit(&mut again);
                again[0] |= bytes[0] & 0x03;
                again[1] |= bytes[1];
                if repr.checksum {
                    again[4..8].copy_from_slice(&bytes[4..8]);
                }
                assert_eq!(again, &bytes[..offset]);
                let _ = repr.to_string();
            }
            Err(gre::Error::Checksum) => {
                assert!(!view.expect("a complete header").verify_checksum());
            }
            Err(error) => assert_eq!(view.err(), Some(error)),
        }
        for protocol in [gre::Protocol::IPV4, gre::Protocol::IPV6, gre::Protocol::CONTROL] {
            let _ = gre::matches_inner(protocol, &bytes);
        }
    });
}

#[test]
fn fuzz_summary() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<Packet>().for_each(|packet| {
        let bytes = packet.build();
        let Ok(summary) = Summary::parse(&bytes) else { return };
        assert!(summary.version.header_len() <= summary.transport);
        assert!(summary.transport <= summary.total_len && summary.total_len <= bytes.len());
        assert_eq!(Version::of(summary.source), summary.version);
        assert_eq!(Version::of(summary.destination), summary.version);
        assert!(!summary.fragment || summary.ports.is_none());
        assert!(summary.flow_label < 1 << 20);
        if let Some((source, destination)) = summary.ports {
            let ports = &bytes[summary.transport..summary.transport + 4];
            assert_eq!(ports, [source.to_be_bytes(), destination.to_be_bytes()].concat());
        }
        // Bytes behind the packet do not count.
        let mut longer = bytes[..summary.total_len].to_vec();
        assert_eq!(Summary::parse(&longer), Ok(summary));
        longer.extend([0xff; 9]);
        assert_eq!(Summary::parse(&longer), Ok(summary));
        let _ = (summary.flow_hash(1), summary.is_multicast(), summary.is_link_local());
        let _ = summary.to_string();
    });
}

#[test]
fn fuzz_views() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<Packet>().for_each(|packet| {
        let bytes = packet.build();
        for packet in [ipv4::Packet::new_checked(&bytes), ipv4::Packet::new_header(&bytes)]
            .into_iter()
            .flatten()
        {
            assert!(packet.header_len() + packet.payload().len() <= bytes.len());
            let _ = (packet.options(), packet.verify_checksum(), packet.fragment_offset());
            if let Some(repr) = ipv4::Repr::parse(&packet) {
                let mut again = [0; ipv4::HEADER_LEN];
                if packet.total_len() >= ipv4::HEADER_LEN {
                    repr.emit(&mut again);
                    let again = ipv4::Packet::new_header(&again).expect("an emitted header");
                    assert_eq!(ipv4::Repr::parse(&again), Some(repr));
                }
                let _ = repr.to_string();
            }
        }
        for packet in [ipv6::Packet::new_checked(&bytes), ipv6::Packet::new_header(&bytes)]
            .into_iter()
            .flatten()
        {
            assert!(ipv6::HEADER_LEN + packet.payload().len() <= bytes.len());
            let repr = ipv6::Repr::parse(&packet);
            let mut again = [0; ipv6::HEADER_LEN];
            repr.emit(&mut again);
            assert_eq!(again, bytes[..ipv6::HEADER_LEN]);
            let _ = repr.to_string();
        }
        if let Ok(packet) = udp::Packet::new_checked(&bytes) {
            let repr = udp::Repr::parse(&packet);
            let mut again = [0; udp::HEADER_LEN];
            repr.emit(&mut again);
            assert_eq!(again[..6], bytes[..6]);
            let _ = (packet.is_empty(), packet.verify_checksum(Sum::new()), repr.to_string());
        }
        if let Ok(packet) = tcp::Packet::new_checked(&bytes) {
            let repr = tcp::Repr::parse(&packet);
            let mut again = vec![0; packet.header_len()];
            repr.emit(&mut again);
            let emitted = tcp::Packet::new_checked(&again).expect("an emitted header");
            assert_eq!(tcp::Repr::parse(&emitted), repr);
            for option in packet.options() {
                let end = option.offset + option.data.len();
                assert_eq!(&packet.option_bytes()[option.offset..end], option.data);
            }
            let _ = (packet.payload(), packet.verify_checksum(Sum::new()), repr.to_string());
        }
    });
}

#[test]
fn fuzz_mss() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<(Packet, Packet, u16)>().for_each(
        |(packet, other, inner_mtu)| {
            let mut bytes = packet.build();
            let Ok(summary) = Summary::parse(&bytes) else { return };
            // A SYN, with a right checksum.
            if let Some(segment) = bytes.get_mut(summary.transport..summary.total_len)
                && let Ok(mut segment) = tcp::Packet::new_checked(segment)
            {
                segment.set_flags(tcp::Flags::SYN);
                segment.fill_checksum(pseudo_header(&summary));
            }
            let before = bytes.clone();
            let changed = mss::clamp(&mut bytes, &summary, *inner_mtu, ChecksumState::Complete);
            assert_eq!(changed, bytes != before);
            if changed {
                let segment = &bytes[summary.transport..summary.total_len];
                let segment = tcp::Packet::new_checked(segment).expect("it was changed");
                assert!(segment.verify_checksum(pseudo_header(&summary)));
            }
            assert!(!mss::clamp(&mut bytes, &summary, *inner_mtu, ChecksumState::Partial));
            // The summary of another packet is a bug of the caller, and no reason to panic.
            let _ = mss::clamp(&mut other.build(), &summary, *inner_mtu, ChecksumState::Partial);
        },
    );
}

#[test]
fn fuzz_icmp() {
    bolero::check!()
        .with_iterations(ITERATIONS)
        .with_type::<(Packet, Packet, u16, u16)>()
        .for_each(|(packet, other, mtu, buffer_len)| {
            let (bytes, other) = (packet.build(), other.build());
            let mut buffer = vec![0; usize::from(buffer_len % 2048)];
            let Ok(summary) = Summary::parse(&bytes) else {
                let source = IpAddr::from([10, 0, 0, 1]);
                assert_eq!(icmp::too_big(&bytes, *mtu, source, &mut buffer), None);
                return;
            };
            let error = icmp::is_error(&bytes, &summary);
            let quoted = Quoted::parse(&bytes, &summary);
            assert!(error || quoted.is_none());
            let _ = (icmp::is_error(&other, &summary), Quoted::parse(&other, &summary));
            let source = match summary.version {
                Version::V4 => IpAddr::from([10, 0, 0, 1]),
                Version::V6 => IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 1]),
            };
            let Some(len) = icmp::too_big(&bytes, *mtu, source, &mut buffer) else { return };
            assert!(!error && len <= MAX_TOO_BIG_LEN);
            let message = &buffer[..len];
            let answer = Summary::parse(message).expect("a packet of our own");
            assert_eq!((answer.total_len, answer.source), (len, source));
            assert_eq!(answer.destination, summary.source);
            let mut sum = Sum::new();
            if answer.version == Version::V6 {
                sum = pseudo_header(&answer);
            }
            sum.add_bytes(&message[answer.transport..]);
            assert_eq!(sum.fold(), 0xffff);
            let quoted = Quoted::parse(message, &answer).expect("an error of our own");
            assert_eq!(quoted.mtu, Some(u32::from(*mtu)));
            assert_eq!(quoted.summary, summary);
            assert_eq!(quoted.bytes, &bytes[..quoted.bytes.len()]);
        });
}

#[test]
fn fuzz_ecn() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<(Packet, u8)>().for_each(
        |(packet, bits)| {
            let mut bytes = packet.build();
            let ecn = Ecn::from_tos(*bits);
            if let Ok(mut header) = ipv4::Packet::new_header(&mut bytes[..]) {
                header.fill_checksum();
            }
            let before = Summary::parse(&bytes);
            ecn::set(&mut bytes, ecn);
            let Ok(before) = before else { return };
            let expected = Summary { tos: ecn.with_tos(before.tos), ..before };
            assert_eq!(Summary::parse(&bytes), Ok(expected));
            if let Ok(header) = ipv4::Packet::new_header(&bytes) {
                assert!(header.verify_checksum());
            }
        },
    );
}

fn pseudo_header(summary: &Summary) -> Sum {
    let len = summary.total_len - summary.transport;
    match (summary.source, summary.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            pseudo_header_v4(source, destination, summary.protocol, len as u16)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            pseudo_header_v6(source, destination, summary.protocol, len as u32)
        }
        _ => unreachable!("both addresses are of one version"),
    }
}
