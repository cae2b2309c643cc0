//! parse(emit(x)) == x for every header.

use mpt_wire::gre::{Header, Protocol, Repr};
use mpt_wire::ip::{Summary, Version, protocol};
use mpt_wire::{ipv4, ipv6, tcp, udp};
use proptest::prelude::*;

use crate::support::gre_datagram;

prop_compose! {
    fn gre_repr()(protocol: u16, checksum: bool, key: Option<u32>, sequence: Option<u32>) -> Repr {
        Repr { protocol: Protocol(protocol), checksum, key, sequence }
    }
}

prop_compose! {
    fn ipv4_repr()(
        source: u32, destination: u32, protocol: u8, tos: u8, identification: u16,
        dont_fragment: bool, ttl: u8, payload_len in 0..=65_515u16,
    ) -> ipv4::Repr {
        let (source, destination) = (source.into(), destination.into());
        ipv4::Repr {
            source, destination, protocol, tos, identification, dont_fragment, ttl, payload_len,
        }
    }
}

prop_compose! {
    fn ipv6_repr()(
        source: u128, destination: u128, next_header: u8, traffic_class: u8,
        flow_label in 0..1u32 << 20, hop_limit: u8, payload_len: u16,
    ) -> ipv6::Repr {
        let (source, destination) = (source.into(), destination.into());
        ipv6::Repr {
            source, destination, next_header, traffic_class, flow_label, hop_limit, payload_len,
        }
    }
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..2000)
}

proptest! {
    #[test]
    fn gre(repr in gre_repr(), payload in payload()) {
        let datagram = gre_datagram(&repr, &payload);
        let offset = datagram.len() - payload.len();
        prop_assert_eq!(Repr::parse(&datagram), Ok((repr, offset)));
        let header = Header::new_checked(&datagram).unwrap();
        prop_assert_eq!(header.payload(), payload);
        prop_assert_eq!(header.repr(), repr);
    }

    #[test]
    fn a_damaged_gre_checksum_is_found(repr in gre_repr(), payload in payload(), at: prop::sample::Index, bit in 0..8u8) {
        let mut datagram = gre_datagram(&Repr { checksum: true, ..repr }, &payload);
        // Behind the flags, whose damage may be found otherwise.
        let at = 2 + at.index(datagram.len() - 2);
        datagram[at] ^= 1u8 << bit;
        prop_assert_eq!(Repr::parse(&datagram), Err(mpt_wire::gre::Error::Checksum));
    }

    #[test]
    fn ipv4(repr in ipv4_repr()) {
        let mut buffer = [0xff; ipv4::HEADER_LEN];
        repr.emit(&mut buffer);
        prop_assert_eq!(ipv4::Repr::parse(&ipv4::Packet::new_header(&buffer).unwrap()), Some(repr));
    }

    #[test]
    fn ipv6(repr in ipv6_repr()) {
        let mut buffer = [0xff; ipv6::HEADER_LEN];
        repr.emit(&mut buffer);
        prop_assert_eq!(ipv6::Repr::parse(&ipv6::Packet::new_header(&buffer).unwrap()), repr);
    }

    #[test]
    fn udp(source_port: u16, destination_port: u16, payload in payload()) {
        let repr = udp::Repr { source_port, destination_port, payload_len: payload.len() as u16 };
        let mut buffer = vec![0xff; udp::HEADER_LEN];
        repr.emit(&mut buffer);
        buffer.extend(&payload);
        let packet = udp::Packet::new_checked(&buffer).unwrap();
        prop_assert_eq!(udp::Repr::parse(&packet), repr);
        prop_assert_eq!(packet.payload(), payload);
    }

    #[test]
    fn tcp(
        source_port: u16, destination_port: u16, sequence: u32, acknowledgment: u32,
        flags in 0..0x200u16, window: u16, urgent: u16,
        options in prop::collection::vec(any::<[u8; 4]>(), 0..=10), payload in payload(),
    ) {
        let repr = tcp::Repr {
            source_port, destination_port, sequence, acknowledgment,
            flags: tcp::Flags(flags), window, urgent, options: options.as_flattened(),
        };
        let mut buffer = vec![0xff; repr.header_len()];
        repr.emit(&mut buffer);
        buffer.extend(&payload);
        let packet = tcp::Packet::new_checked(&buffer).unwrap();
        prop_assert_eq!(tcp::Repr::parse(&packet), repr);
        prop_assert_eq!(packet.payload(), payload);
    }

    #[test]
    fn the_summary_is_what_the_headers_say(
        v4 in ipv4_repr(), v6 in ipv6_repr(), source_port: u16, destination_port: u16, payload in payload(),
    ) {
        let udp_repr = udp::Repr { source_port, destination_port, payload_len: payload.len() as u16 };
        let mut datagram = vec![0; udp::HEADER_LEN];
        udp_repr.emit(&mut datagram);
        datagram.extend(&payload);
        let payload_len = datagram.len() as u16;

        let v4 = ipv4::Repr { protocol: protocol::UDP, payload_len, ..v4 };
        let mut packet = vec![0; ipv4::HEADER_LEN];
        v4.emit(&mut packet);
        packet.extend(&datagram);
        prop_assert_eq!(Summary::parse(&packet), Ok(Summary {
            version: Version::V4,
            source: v4.source.into(),
            destination: v4.destination.into(),
            protocol: protocol::UDP,
            tos: v4.tos,
            transport: 20,
            ports: Some((source_port, destination_port)),
            fragment: false,
            flow_label: 0,
            total_len: packet.len(),
        }));

        let v6 = ipv6::Repr { next_header: protocol::UDP, payload_len, ..v6 };
        let mut packet = vec![0; ipv6::HEADER_LEN];
        v6.emit(&mut packet);
        packet.extend(&datagram);
        prop_assert_eq!(Summary::parse(&packet), Ok(Summary {
            version: Version::V6,
            source: v6.source.into(),
            destination: v6.destination.into(),
            protocol: protocol::UDP,
            tos: v6.traffic_class,
            transport: 40,
            ports: Some((source_port, destination_port)),
            fragment: false,
            flow_label: v6.flow_label,
            total_len: packet.len(),
        }));
    }
}
