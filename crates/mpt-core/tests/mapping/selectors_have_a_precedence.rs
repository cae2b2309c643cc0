//! Which of several matching connections carries a packet.
#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};
use mpt_core::{
    ConfigError, ConnectionConfig, ConnectionId, DeviceId, Node, PathConfig, PortRange, Selector,
    SelectorTable, SocketId,
};
use mpt_wire::ip::Summary;
use proptest::prelude::*;

use crate::common::*;

fn net(prefix: &str) -> IpNet {
    prefix.parse().unwrap()
}

fn ports(first: u16, last: u16) -> Option<PortRange> {
    Some(PortRange::new(first, last).unwrap())
}

/// Gives the place of the selector that wins.
fn winner(selectors: &[Selector], packet: &[u8]) -> Option<u32> {
    let mut table = SelectorTable::new();
    for (place, &selector) in selectors.iter().enumerate() {
        table.insert(DEVICE, selector, ConnectionId::first(place as u32)).unwrap();
    }
    table
        .lookup(DEVICE, &Summary::parse(packet).unwrap())
        .map(|connection| connection.index() as u32)
}

/// Each wins against all after it, in whatever order they are given.
#[test]
fn destination_then_source_then_protocol_then_ports_then_dscp() {
    let any = Selector::to(net("10.1.0.0/16"));
    let ranking = [
        Selector { destination: net("10.1.2.0/24"), ..any },
        Selector { source: Some(net("10.0.0.0/24")), ..any },
        Selector { source: Some(net("10.0.0.0/16")), ..any },
        Selector { protocol: Some(UDP), destination_ports: ports(2000, 2000), ..any },
        Selector { protocol: Some(UDP), destination_ports: ports(1990, 2005), ..any },
        Selector { protocol: Some(UDP), destination_ports: ports(1000, 3000), ..any },
        Selector { protocol: Some(UDP), source_ports: ports(500, 600), ..any },
        Selector { protocol: Some(UDP), dscp: Some(46), ..any },
        Selector { protocol: Some(UDP), ..any },
        Selector { dscp: Some(46), ..any },
        any,
        Selector::to(net("10.0.0.0/8")),
        Selector::to(net("0.0.0.0/0")),
    ];
    let mut packet = udp("10.0.0.1", "10.1.2.3", 555, 2000, &[]);
    packet[1] = 46 << 2;
    fill_ipv4_checksum(&mut packet);
    for first in 0..ranking.len() {
        assert_eq!(winner(&ranking[first..], &packet), Some(0), "{:?}", ranking[first]);
        let reversed: Vec<_> = ranking[first..].iter().rev().copied().collect();
        assert_eq!(winner(&reversed, &packet), Some(reversed.len() as u32 - 1));
    }
    assert_eq!(winner(&ranking, &udp("10.0.0.1", "11.0.0.1", 1, 1, &[])), Some(12));
    assert_eq!(winner(&ranking[..12], &udp("10.0.0.1", "11.0.0.1", 1, 1, &[])), None);
}

#[test]
fn ipv6_after_extension_headers() {
    let voice = Selector {
        protocol: Some(UDP),
        destination_ports: ports(5060, 5061),
        ..Selector::to(net("fd01::/64"))
    };
    let selectors = [Selector::to(net("::/0")), voice];
    assert_eq!(winner(&selectors, &udp("fd00::1", "fd01::1", 9, 5060, &[])), Some(1));
    assert_eq!(winner(&selectors, &udp("fd00::1", "fd01::1", 9, 5062, &[])), Some(0));
    // A destination options header of 8 bytes (PadN) before UDP.
    let mut payload = vec![UDP, 0, 1, 4, 0, 0, 0, 0];
    payload.extend([9_u16, 5061, 8, 0].map(u16::to_be_bytes).concat());
    assert_eq!(winner(&selectors, &packet("fd00::1", "fd01::1", 60, &payload)), Some(1));
}

#[test]
fn no_fragment_matches_ports() {
    let web = Selector {
        protocol: Some(UDP),
        destination_ports: ports(443, 443),
        ..Selector::to(net("10.1.0.0/16"))
    };
    let rest = Selector::to(net("10.1.0.0/16"));
    let mut first = udp("10.0.0.1", "10.1.0.1", 1, 443, &[0; 8]);
    assert_eq!(winner(&[web, rest], &first), Some(0));
    first[6] = 0x20;
    fill_ipv4_checksum(&mut first);
    assert_eq!(winner(&[web, rest], &first), Some(1));
    assert_eq!(winner(&[web], &first), None);
}

#[test]
fn the_selectors_of_one_device_do_not_hold_for_another() {
    let mut table = SelectorTable::new();
    let selector = Selector::to(net("10.1.0.0/16"));
    table.insert(DeviceId(0), selector, ConnectionId::first(0)).unwrap();
    table.insert(DeviceId(1), selector, ConnectionId::first(1)).unwrap();
    let packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    let summary = Summary::parse(&packet).unwrap();
    assert_eq!(table.lookup(DeviceId(0), &summary), Some(ConnectionId::first(0)));
    assert_eq!(table.lookup(DeviceId(1), &summary), Some(ConnectionId::first(1)));
    assert_eq!(table.lookup(DeviceId(2), &summary), None);
}

#[test]
fn voice_and_bulk_between_the_same_hosts() {
    let named = |name: &str, n: u8, selector| ConnectionConfig {
        name: name.into(),
        selectors: vec![selector],
        ..connection(vec![PathConfig { sockets: vec![SocketId(u32::from(n))], ..path(n) }])
    };
    let bulk = Selector::to(net("10.1.0.0/16"));
    let voice = Selector { protocol: Some(UDP), destination_ports: ports(10_000, 20_000), ..bulk };
    let mut node: Node<Packet> = Node::new([0; 32]);
    node.add_connection(origin(), named("bulk", 1, bulk)).unwrap();
    node.add_connection(origin(), named("voice", 2, voice)).unwrap();
    for (port, expected) in [(9_999, 0), (10_000, 1), (16_384, 1), (20_000, 1), (20_001, 0)] {
        let mut packet = udp("10.0.0.1", "10.1.0.1", 7, port, &[]);
        let length = packet.len();
        let outgoing =
            node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 1, length)).unwrap();
        assert_eq!(outgoing.connection, ConnectionId::first(expected), "port {port}");
    }
}

#[test]
fn equal_selectors_are_an_error_that_names_both() {
    let base = Selector::to(net("10.1.0.0/16"));
    let with = |destination_ports| Selector { protocol: Some(UDP), destination_ports, ..base };
    let add = |first: Selector, second: Selector| {
        let named = |name: &str, n, selector| ConnectionConfig {
            name: name.into(),
            selectors: vec![selector],
            ..connection(vec![path(n)])
        };
        let mut node: Node<Packet> = Node::new([0; 32]);
        node.add_connection(origin(), named("one", 1, first)).unwrap();
        node.add_connection(origin(), named("two", 2, second)).map(|_| ())
    };
    let equal = Err(ConfigError::EqualSelectors { first: "one".into(), second: "two".into() });
    assert_eq!(add(base, base), equal);
    assert_eq!(add(base, Selector { destination: net("10.1.7.7/16"), ..base }), equal);
    assert_eq!(add(base, Selector { source: Some(net("0.0.0.0/0")), ..base }), equal);
    // Neither range is the smaller one, and both have port 15.
    assert_eq!(add(with(ports(10, 15)), with(ports(15, 20))), equal);
    assert_eq!(add(with(ports(10, 14)), with(ports(15, 19))), Ok(()));
    assert_eq!(add(with(ports(10, 15)), with(ports(11, 15))), Ok(()));
    assert_eq!(add(base, Selector { dscp: Some(0), ..base }), Ok(()));
}

/// The definition, word by word: of all that match, the first by the six criteria.
fn model(selectors: &[Selector], packet: &Fields) -> Option<u32> {
    let within = |range: Option<PortRange>, port: u16| match (range, packet.fragment) {
        (None, _) => true,
        (Some(_), true) => false,
        (Some(range), false) => (range.first()..=range.last()).contains(&port),
    };
    let narrowness = |range: Option<PortRange>| range.map_or(0, |range| 65_537 - range.len());
    let matching = selectors.iter().enumerate().filter(|(_, selector)| {
        selector.destination.contains(&packet.destination)
            && selector.source.is_none_or(|source| source.contains(&packet.source))
            && selector.protocol.is_none_or(|protocol| protocol == packet.protocol)
            && within(selector.destination_ports, packet.destination_port)
            && within(selector.source_ports, packet.source_port)
            && selector.dscp.is_none_or(|dscp| dscp == packet.dscp)
    });
    let best = matching.max_by_key(|(_, selector)| {
        (
            selector.destination.prefix_len(),
            selector.source.map_or(0, |source| source.prefix_len()),
            selector.protocol.is_some(),
            narrowness(selector.destination_ports),
            narrowness(selector.source_ports),
            selector.dscp.is_some(),
        )
    });
    best.map(|(place, _)| place as u32)
}

#[derive(Clone, Debug)]
struct Fields {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    source_port: u16,
    destination_port: u16,
    dscp: u8,
    fragment: bool,
}

impl Fields {
    fn packet(&self) -> Vec<u8> {
        let (source, destination) = (self.source.to_string(), self.destination.to_string());
        let mut packet = if self.protocol == UDP {
            udp(&source, &destination, self.source_port, self.destination_port, &[0; 16])
        } else {
            let ports = [self.source_port, self.destination_port].map(u16::to_be_bytes).concat();
            let rest = [0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0];
            packet(&source, &destination, TCP, &[&ports[..], &rest].concat())
        };
        packet[1] = self.dscp << 2;
        packet[6] = if self.fragment { 0x20 } else { 0x40 };
        fill_ipv4_checksum(&mut packet);
        packet
    }
}

/// Few values, so that they meet.
fn address() -> impl Strategy<Value = Ipv4Addr> {
    (0_u8..2, 0_u8..2, 0_u8..4).prop_map(|(a, b, c)| Ipv4Addr::new(10, a, b, c))
}

fn prefix() -> impl Strategy<Value = IpNet> {
    let length = prop_oneof![Just(0_u8), Just(8), Just(15), Just(16), Just(24), Just(31), Just(32)];
    (address(), length).prop_map(|(address, length)| Ipv4Net::new(address, length).unwrap().into())
}

fn range() -> impl Strategy<Value = Option<PortRange>> {
    let any_two = (0_u16..40, 0_u16..40).prop_map(|(a, b)| PortRange::new(a.min(b), a.max(b)));
    prop_oneof![Just(None), any_two, Just(PortRange::new(0, 65_535))]
}

fn selector() -> impl Strategy<Value = Selector> {
    let protocol = prop_oneof![Just(TCP), Just(UDP)];
    (
        prefix(),
        prop::option::of(prefix()),
        prop::option::of(protocol),
        range(),
        range(),
        prop::option::of(0_u8..2),
    )
        .prop_map(|(destination, source, protocol, destination_ports, source_ports, dscp)| {
            Selector { destination, source, protocol, destination_ports, source_ports, dscp }
        })
}

fn fields() -> impl Strategy<Value = Fields> {
    let protocol = prop_oneof![Just(TCP), Just(UDP)];
    (address(), address(), protocol, 0_u16..42, 0_u16..42, 0_u8..3, prop::bool::weighted(0.2))
        .prop_map(
            |(source, destination, protocol, source_port, destination_port, dscp, fragment)| {
                let (source, destination) = (source.into(), destination.into());
                Fields {
                    source,
                    destination,
                    protocol,
                    source_port,
                    destination_port,
                    dscp,
                    fragment,
                }
            },
        )
}

proptest! {
    #[test]
    fn as_a_naive_search_finds(
        candidates in prop::collection::vec(selector(), 0..25),
        packets in prop::collection::vec(fields(), 1..40),
        removed in 0_u32..25,
    ) {
        let mut table = SelectorTable::new();
        let mut selectors = Vec::new();
        for selector in candidates {
            // Those that conflict with another are not in the table.
            if table.insert(DEVICE, selector, ConnectionId::first(selectors.len() as u32)).is_ok() {
                selectors.push(selector);
            }
        }
        for packet in &packets {
            let bytes = packet.packet();
            let summary = Summary::parse(&bytes).unwrap();
            let found = table.lookup(DEVICE, &summary).map(|connection| connection.index() as u32);
            prop_assert_eq!(found, model(&selectors, packet), "{:?} in {:?}", packet, selectors);
        }
        if (removed as usize) < selectors.len() {
            table.remove(ConnectionId::first(removed));
            selectors.remove(removed as usize);
            for packet in &packets {
                let bytes = packet.packet();
                let summary = Summary::parse(&bytes).unwrap();
                let found = table.lookup(DEVICE, &summary).map(|connection| connection.index() as u32);
                let expected = model(&selectors, packet);
                let shifted = expected.map(|place| if place >= removed { place + 1 } else { place });
                prop_assert_eq!(found, shifted);
            }
        }
    }
}
