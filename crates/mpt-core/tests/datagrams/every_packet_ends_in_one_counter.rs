//! Random bytes and mutated packets: never a panic, and each call counts once.
#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use mpt_core::{
    ConnectionConfig, Direction, DownReason, InnerPacket, Mapping, Node, Selector, SocketId,
};
use proptest::prelude::*;

use crate::common::*;

/// Connections of all kinds.
fn node_of_all_kinds() -> Node<Packet> {
    let mut node = Node::new([3; 32]);
    let everything = |net: &str| vec![Selector::to(net.parse().unwrap())];
    let all = vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
    let configs = [
        connection(vec![path(1), path(2)]),
        ConnectionConfig {
            name: "keyed".into(),
            key: Some(0),
            multicast: true,
            mapping: Mapping::Duplicate,
            selectors: everything("::/0"),
            sources: all.clone(),
            ..connection(vec![path(1), path(2)])
        },
        ConnectionConfig {
            name: "plain".into(),
            sequence: false,
            checksum: true,
            copy_dscp: true,
            mapping: Mapping::Flow,
            selectors: everything("0.0.0.0/0"),
            sources: all,
            ..connection(vec![path(3)])
        },
        ConnectionConfig {
            name: "receiver".into(),
            direction: Direction::Receive,
            selectors: everything("10.1.3.0/24"),
            ..connection(vec![path(4)])
        },
        ConnectionConfig {
            name: "sender".into(),
            direction: Direction::Send,
            selectors: everything("10.1.4.0/24"),
            ..connection(vec![path(5)])
        },
        ConnectionConfig {
            name: "down".into(),
            selectors: everything("10.1.5.0/24"),
            ..connection(vec![path(6)])
        },
    ];
    for config in configs {
        node.add_connection(origin(), config).unwrap();
    }
    let (last, _) = node.tunnels().paths().last().unwrap();
    node.set_path_state(origin(), last, DownReason::Interface, true);
    node
}

/// Packets that get far, in both directions.
fn base() -> impl Strategy<Value = Vec<u8>> {
    let host = (0_u8..2, 0_u8..2, 0_u8..7, 0_u8..4);
    let v4 = host.prop_map(|(from, to, net, host)| {
        let address = |side: u8| format!("10.{side}.{net}.{host}");
        (address(from), address(to))
    });
    let v6 =
        (0_u8..2, 0_u8..2).prop_map(|(from, to)| (format!("fd0{from}::1"), format!("fd0{to}::1")));
    let group = Just(("10.1.0.1".to_owned(), "224.0.0.5".to_owned()));
    let addresses = prop_oneof![4 => v4, 2 => v6, 1 => group];
    (addresses, 0_u8..4, prop::collection::vec(any::<u8>(), 0..60)).prop_map(
        |((from, to), kind, data)| match kind {
            0 => udp(&from, &to, 1, 2, &data),
            1 => tcp(&from, &to, 2, &[2, 4, 0xff, 0xff], &data),
            2 => tcp(&from, &to, 0x12, &[2, 4, 0xff, 0xff, 1, 1, 2, 4], &data),
            _ => packet(&from, &to, if from.contains(':') { 58 } else { 1 }, &data),
        },
    )
}

fn mutated(bytes: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (bytes, changes, prop::option::weighted(0.2, any::<prop::sample::Index>())).prop_map(
        |(mut bytes, changes, cut)| {
            for (place, value) in changes {
                if !bytes.is_empty() {
                    let place = place.index(bytes.len());
                    bytes[place] = value;
                }
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len() + 1));
            }
            bytes
        },
    )
}

fn anything(bytes: impl Strategy<Value = Vec<u8>> + 'static) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => mutated(bytes),
        1 => prop::collection::vec(any::<u8>(), 0..100),
    ]
}

fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0_u32..200, any::<u32>()];
    (base(), 0_u8..3, 0_u32..2, number).prop_map(|(inner, kind, key, sequence)| match kind {
        0 => gre_plain(&inner),
        1 => gre(sequence, &inner),
        _ => gre_key(key, sequence, &inner),
    })
}

proptest! {
    #[test]
    fn from_a_device(
        packets in prop::collection::vec((anything(base()), 0_u16..5, 0_usize..3000), 1..40)
    ) {
        let mut node = node_of_all_kinds();
        for (mut packet, segments, largest) in packets {
            let before = sent_total(&node);
            let size = largest.max(packet.len());
            // What is no IP packet does not reach the node.
            let Ok(whole) = InnerPacket::whole(&mut packet) else { continue };
            let offered = InnerPacket { segments, largest: size, ..whole };
            let sent = node.handle_inner(origin(), DEVICE, offered);
            if let Ok(outgoing) = sent {
                prop_assert!(outgoing.transmits.len() >= usize::from(segments));
            }
            let counted = sent_total(&node) - before;
            prop_assert_eq!(counted, u64::from(segments.max(1)));
        }
    }

    #[test]
    fn from_the_network(
        datagrams in prop::collection::vec((anything(datagram()), 1_u8..8, 1_u32..8, 0_u64..50), 1..80)
    ) {
        let mut node = node_of_all_kinds();
        let mut device = Device::default();
        let mut now = origin();
        let mut accepted = 0;
        for (datagram, n, socket, milliseconds) in datagrams {
            now += Duration::from_millis(milliseconds);
            while node.next_timeout().is_some_and(|time| time <= now) {
                node.handle_timeout(now, &mut device);
            }
            // Mostly the right socket.
            let socket = SocketId(if socket < 3 { socket } else { u32::from(n) });
            let remote = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, n)), PORT);
            let before = received_total(&node);
            let result =
                receive_from(&mut node, now, socket, remote, &datagram, &mut device);
            accepted += u64::from(result.is_ok());
            prop_assert_eq!(received_total(&node) - before, 1);
        }
        // Nothing waits for ever, and each that went through a reorder buffer is in one of its
        // counters.
        while let Some(time) = node.next_timeout() {
            node.handle_timeout(time, &mut device);
        }
        let sum = |part: fn(&mpt_core::Connection<Packet>) -> u64| -> u64 {
            node.tunnels().connections().map(|(_, connection)| part(connection)).sum()
        };
        prop_assert_eq!(sum(|connection| connection.accepted().total()), accepted);
        let sequenced = sum(|connection| connection.accepted().sequenced);
        let ended =
            sum(|connection| connection.reorder().map_or(0, |it| it.counters().packets()));
        prop_assert_eq!(ended, sequenced);
        let delivered =
            sum(|connection| connection.reorder().map_or(0, |it| it.counters().delivered()));
        let at_once = accepted - sequenced;
        prop_assert_eq!(device.delivered.len() as u64, delivered + at_once);
    }
}
