//! An independent implementation builds packets that we read, checks those that we build, and
//! computes the same checksums.

use std::net::IpAddr;

use etherparse::{
    Icmpv4Type, Icmpv6Type, IpAuthHeader, IpFragOffset, IpHeaders, IpNumber, Ipv4Extensions,
    Ipv4Header, Ipv4Options, Ipv6Extensions, Ipv6FlowLabel, Ipv6FragmentHeader, Ipv6Header,
    Ipv6RawExtHeader, Ipv6RoutingExtensions, NetSlice, PacketBuilder, SlicedPacket, TcpHeader,
    TcpOptionElement, TransportSlice, icmpv4::DestUnreachableHeader,
};
use mpt_wire::checksum::{Sum, pseudo_header_v4, pseudo_header_v6};
use mpt_wire::icmp;
use mpt_wire::ip::{Summary, Version};
use mpt_wire::tcp::mss::{self, ChecksumState};
use mpt_wire::{ipv4, ipv6, tcp, udp};
use proptest::prelude::*;

/// The addresses and the fields around them that the packets below take.
#[derive(Clone, Debug)]
struct Ip {
    headers: IpHeaders,
    source: IpAddr,
    destination: IpAddr,
    tos: u8,
    flow_label: u32,
    fragment: bool,
}

prop_compose! {
    fn v4()(
        source: [u8; 4], destination: [u8; 4], tos: u8, ttl: u8, identification: u16,
        words in 0..=10usize, fill: u8,
    ) -> Ip {
        let mut header = Ipv4Header::new(0, ttl, IpNumber::TCP, source, destination).unwrap();
        header.dscp = etherparse::IpDscp::try_new(tos >> 2).unwrap();
        header.ecn = etherparse::IpEcn::try_new(tos & 3).unwrap();
        header.identification = identification;
        header.options = Ipv4Options::try_from(&vec![fill; words * 4][..]).unwrap();
        Ip {
            headers: IpHeaders::Ipv4(header, Ipv4Extensions::default()),
            source: source.into(),
            destination: destination.into(),
            tos,
            flow_label: 0,
            fragment: false,
        }
    }
}

prop_compose! {
    fn raw_header()(units in 0..4usize, fill: u8) -> Ipv6RawExtHeader {
        Ipv6RawExtHeader::new_raw(IpNumber::TCP, &vec![fill; 6 + 8 * units]).unwrap()
    }
}

prop_compose! {
    /// The header of a fragment, of an atomic one in half of the cases.
    fn fragment_header()(offset in 0..8000u16, atomic: bool, more: bool, id: u32) -> Ipv6FragmentHeader {
        let offset = IpFragOffset::try_new(if atomic { 0 } else { offset }).unwrap();
        Ipv6FragmentHeader::new(IpNumber::TCP, offset, more && !atomic, id)
    }
}

prop_compose! {
    /// Extension headers in the order of RFC 8200 section 4.1, each there or not.
    fn extensions()(
        hop_by_hop_options in prop::option::of(raw_header()),
        destination_options in prop::option::of(raw_header()),
        routing in prop::option::of((raw_header(), prop::option::of(raw_header()))),
        fragment in prop::option::weighted(0.3, fragment_header()),
        auth in prop::option::of(0..6usize),
    ) -> Ipv6Extensions {
        Ipv6Extensions {
            hop_by_hop_options,
            // Its place is in front of the routing header only.
            destination_options: destination_options.filter(|_| routing.is_some()),
            routing: routing.map(|(routing, final_destination_options)| {
                Ipv6RoutingExtensions { routing, final_destination_options }
            }),
            fragment,
            auth: auth.map(|words| {
                IpAuthHeader::new(IpNumber::TCP, 1, 2, &vec![0; words * 8 + 4]).unwrap()
            }),
        }
    }
}

prop_compose! {
    fn v6()(
        source: [u8; 16], destination: [u8; 16], tos: u8, flow_label in 0..1u32 << 20,
        hop_limit: u8, extensions in extensions(),
    ) -> Ip {
        let header = Ipv6Header {
            traffic_class: tos,
            flow_label: Ipv6FlowLabel::try_new(flow_label).unwrap(),
            payload_length: 0,
            next_header: IpNumber::TCP,
            hop_limit,
            source,
            destination,
        };
        Ip {
            fragment: extensions.is_fragmenting_payload(),
            headers: IpHeaders::Ipv6(header, extensions),
            source: source.into(),
            destination: destination.into(),
            tos,
            flow_label,
        }
    }
}

prop_compose! {
    fn tcp_header()(
        ports: (u16, u16), sequence: u32, acknowledgment: u32,
        flags in 0..0x200u16, window: u16, urgent: u16,
        options in prop::collection::vec(any::<u8>(), 0..=40),
    ) -> TcpHeader {
        let mut header = TcpHeader::new(ports.0, ports.1, sequence, window);
        header.acknowledgment_number = acknowledgment;
        header.urgent_pointer = urgent;
        let flag = |flag: tcp::Flags| tcp::Flags(flags).contains(flag);
        header.fin = flag(tcp::Flags::FIN);
        header.syn = flag(tcp::Flags::SYN);
        header.rst = flag(tcp::Flags::RST);
        header.psh = flag(tcp::Flags::PSH);
        header.ack = flag(tcp::Flags::ACK);
        header.urg = flag(tcp::Flags::URG);
        header.ece = flag(tcp::Flags::ECE);
        header.cwr = flag(tcp::Flags::CWR);
        header.ns = flag(tcp::Flags::AE);
        header.set_options_raw(&options).unwrap();
        header
    }
}

fn ip() -> impl Strategy<Value = Ip> {
    (v4(), v6(), any::<bool>()).prop_map(|(v4, v6, six)| if six { v6 } else { v4 })
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..1600)
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

fn check_ip(packet: &[u8], ip: &Ip, headers_len: usize, protocol: u8) -> Summary {
    let summary = Summary::parse(packet).expect("a packet of etherparse");
    assert_eq!(summary.source, ip.source);
    assert_eq!(summary.destination, ip.destination);
    assert_eq!(summary.tos, ip.tos);
    assert_eq!(summary.flow_label, ip.flow_label);
    assert_eq!(summary.total_len, packet.len());
    assert_eq!(summary.fragment, ip.fragment);
    assert_eq!(summary.ports.is_none(), ip.fragment);
    if !ip.fragment {
        assert_eq!(summary.transport, headers_len);
        assert_eq!(summary.protocol, protocol);
    }
    if summary.version == Version::V4 {
        assert!(ipv4::Packet::new_checked(packet).unwrap().verify_checksum());
    }
    summary
}

proptest! {
    #[test]
    fn tcp_segments_of_etherparse(ip in ip(), header in tcp_header(), payload in payload()) {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ip(ip.headers.clone()).tcp_header(header.clone());
        builder.write(&mut packet, &payload).unwrap();
        let headers_len = ip.headers.header_len();
        let summary = check_ip(&packet, &ip, headers_len, 6);
        if ip.fragment {
            return Ok(());
        }
        prop_assert_eq!(summary.ports, Some((header.source_port, header.destination_port)));
        let segment = tcp::Packet::new_checked(&packet[summary.transport..]).unwrap();
        prop_assert!(segment.verify_checksum(pseudo_header(&summary)));
        prop_assert_eq!(segment.sequence(), header.sequence_number);
        prop_assert_eq!(segment.acknowledgment(), header.acknowledgment_number);
        prop_assert_eq!(segment.header_len(), header.header_len());
        prop_assert_eq!(segment.window(), header.window_size);
        prop_assert_eq!(segment.urgent(), header.urgent_pointer);
        prop_assert_eq!(segment.option_bytes(), header.options.as_slice());
        prop_assert_eq!(segment.payload(), payload);
        let flags = segment.flags();
        for (flag, expected) in [
            (tcp::Flags::FIN, header.fin),
            (tcp::Flags::SYN, header.syn),
            (tcp::Flags::RST, header.rst),
            (tcp::Flags::PSH, header.psh),
            (tcp::Flags::ACK, header.ack),
            (tcp::Flags::URG, header.urg),
            (tcp::Flags::ECE, header.ece),
            (tcp::Flags::CWR, header.cwr),
            (tcp::Flags::AE, header.ns),
        ] {
            prop_assert_eq!(flags.contains(flag), expected, "{}", flag);
        }
    }

    #[test]
    fn udp_datagrams_of_etherparse(ip in ip(), ports: (u16, u16), payload in payload()) {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ip(ip.headers.clone()).udp(ports.0, ports.1);
        builder.write(&mut packet, &payload).unwrap();
        let summary = check_ip(&packet, &ip, ip.headers.header_len(), 17);
        if ip.fragment {
            return Ok(());
        }
        prop_assert_eq!(summary.ports, Some(ports));
        let datagram = udp::Packet::new_checked(&packet[summary.transport..]).unwrap();
        prop_assert!(datagram.checksum() != 0 && datagram.verify_checksum(pseudo_header(&summary)));
        prop_assert_eq!(datagram.payload(), payload);
    }

    /// All that we compute, from options to checksum, as another implementation sees it.
    #[test]
    fn a_clamped_syn_is_right_for_etherparse(
        ip in ip(), ports: (u16, u16), mss: u16, padding in 0..4usize, inner_mtu in 68..9000u16,
        payload in payload(),
    ) {
        prop_assume!(!ip.fragment);
        let mut header = TcpHeader::new(ports.0, ports.1, 1, 1);
        header.syn = true;
        let mut options = vec![1; padding];
        options.extend([2, 4, (mss >> 8) as u8, mss as u8]);
        header.set_options_raw(&options).unwrap();
        let mut packet = Vec::new();
        let builder = PacketBuilder::ip(ip.headers.clone()).tcp_header(header);
        builder.write(&mut packet, &payload).unwrap();
        let summary = Summary::parse(&packet).unwrap();
        let limit = inner_mtu - if summary.version == Version::V4 { 40 } else { 60 };
        let changed = mss::clamp(&mut packet, &summary, inner_mtu, ChecksumState::Complete);
        prop_assert_eq!(changed, mss > limit);
        let sliced = SlicedPacket::from_ip(&packet).unwrap();
        let Some(TransportSlice::Tcp(segment)) = sliced.transport else {
            panic!("no TCP: {sliced:?}")
        };
        let expected = match (ip.source, ip.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                segment.calc_checksum_ipv4(source.octets(), destination.octets())
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                segment.calc_checksum_ipv6(source.octets(), destination.octets())
            }
            _ => unreachable!(),
        };
        prop_assert_eq!(segment.checksum(), expected.unwrap());
        let header = segment.to_header();
        let mut options = header.options_iterator();
        let option = options.find(|option| *option != Ok(TcpOptionElement::Noop));
        prop_assert_eq!(option, Some(Ok(TcpOptionElement::MaximumSegmentSize(mss.min(limit)))));
    }

    #[test]
    fn our_packets_are_right_for_etherparse(
        v4: (u32, u32), v6: (u128, u128), tos: u8, ttl: u8, flow_label in 0..1u32 << 20,
        ports: (u16, u16), payload in payload(),
    ) {
        let payload_len = payload.len() as u16;
        let udp_repr =
            udp::Repr { source_port: ports.0, destination_port: ports.1, payload_len };
        let len = udp::HEADER_LEN + payload.len();
        let (source, destination) = (v4.0.into(), v4.1.into());
        let repr = ipv4::Repr {
            source,
            destination,
            protocol: 17,
            tos,
            identification: 7,
            dont_fragment: true,
            ttl,
            payload_len: len as u16,
        };
        let mut packet = vec![0; ipv4::HEADER_LEN + udp::HEADER_LEN];
        repr.emit(&mut packet);
        udp_repr.emit(&mut packet[ipv4::HEADER_LEN..]);
        packet.extend(&payload);
        udp::Packet::new_checked(&mut packet[ipv4::HEADER_LEN..]).unwrap()
            .fill_checksum(pseudo_header_v4(source, destination, 17, len as u16));
        let sliced = SlicedPacket::from_ip(&packet).unwrap();
        let Some(NetSlice::Ipv4(ip)) = &sliced.net else { panic!("no IPv4: {sliced:?}") };
        let header = ip.header().to_header();
        prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
        prop_assert_eq!((header.dscp.value(), header.ecn.value()), (tos >> 2, tos & 3));
        prop_assert_eq!(header.time_to_live, ttl);
        prop_assert!(header.dont_fragment);
        let Some(TransportSlice::Udp(datagram)) = &sliced.transport else {
            panic!("no UDP: {sliced:?}")
        };
        prop_assert_eq!((datagram.source_port(), datagram.destination_port()), ports);
        let checksum = datagram.to_header().calc_checksum_ipv4(&header, &payload).unwrap();
        prop_assert_eq!(datagram.checksum(), checksum);

        let (source, destination) = (v6.0.into(), v6.1.into());
        let repr = ipv6::Repr {
            source,
            destination,
            next_header: 17,
            traffic_class: tos,
            flow_label,
            hop_limit: ttl,
            payload_len: len as u16,
        };
        let mut packet = vec![0; ipv6::HEADER_LEN + udp::HEADER_LEN];
        repr.emit(&mut packet);
        udp_repr.emit(&mut packet[ipv6::HEADER_LEN..]);
        packet.extend(&payload);
        udp::Packet::new_checked(&mut packet[ipv6::HEADER_LEN..]).unwrap()
            .fill_checksum(pseudo_header_v6(source, destination, 17, len as u32));
        let sliced = SlicedPacket::from_ip(&packet).unwrap();
        let Some(NetSlice::Ipv6(ip)) = &sliced.net else { panic!("no IPv6: {sliced:?}") };
        let header = ip.header().to_header();
        prop_assert_eq!((header.traffic_class, header.hop_limit), (tos, ttl));
        prop_assert_eq!(header.flow_label.value(), flow_label);
        let Some(TransportSlice::Udp(datagram)) = &sliced.transport else {
            panic!("no UDP: {sliced:?}")
        };
        let checksum = datagram.to_header().calc_checksum_ipv6(&header, &payload).unwrap();
        prop_assert_eq!(datagram.checksum(), checksum);
    }

    #[test]
    fn our_icmp_errors_are_right_for_etherparse(
        ip in ip(), ports: (u16, u16), mtu in 68..9000u16, payload in payload(),
    ) {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ip(ip.headers.clone()).udp(ports.0, ports.1);
        builder.write(&mut packet, &payload).unwrap();
        let router = match ip.source {
            IpAddr::V4(_) => IpAddr::from([10, 0, 0, 254]),
            IpAddr::V6(_) => IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 254]),
        };
        let mut buffer = [0; icmp::MAX_TOO_BIG_LEN];
        let Some(len) = icmp::too_big(&packet, mtu, router, &mut buffer) else { return Ok(()) };
        let sliced = SlicedPacket::from_ip(&buffer[..len]).unwrap();
        match (&sliced.transport, ip.source, router) {
            (Some(TransportSlice::Icmpv4(message)), ..) => {
                let header = message.header();
                let code = DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: mtu };
                prop_assert_eq!(&header.icmp_type, &Icmpv4Type::DestinationUnreachable(code));
                prop_assert_eq!(header.checksum, header.icmp_type.calc_checksum(message.payload()));
                prop_assert!(packet.starts_with(message.payload()));
            }
            (Some(TransportSlice::Icmpv6(message)), IpAddr::V6(host), IpAddr::V6(router)) => {
                let header = message.header();
                let expected = Icmpv6Type::PacketTooBig { mtu: mtu.into() };
                prop_assert_eq!(&header.icmp_type, &expected);
                let (router, host) = (router.octets(), host.octets());
                let checksum = expected.calc_checksum(router, host, message.payload());
                prop_assert_eq!(header.checksum, checksum.unwrap());
                prop_assert!(packet.starts_with(message.payload()));
            }
            _ => panic!("no ICMP: {sliced:?}"),
        }
    }
}
