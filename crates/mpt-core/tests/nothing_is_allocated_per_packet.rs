//! The packet path allocates nothing once a connection runs: neither sending, by any mapping, nor receiving in order, across
//! gaps, late or twice, nor timers.

mod common;

use std::ops::Range;
use std::time::Duration;

use common::*;
use mpt_core::{
    ConnectionConfig, ConnectionId, DeviceId, DeviceSink, Mapping, Node, Nowhere, PacketMemory,
    SocketId, reorder,
};
use mpt_wire::ecn::Ecn;

fn node(mapping: Mapping) -> Node<u32> {
    let mut node = Node::new([1; 32]);
    let reorder = reorder::Config { window: Some(256), ..reorder::Config::default() };
    let config = ConnectionConfig { mapping, reorder, ..connection(paths(&[3, 1, 1])) };
    node.add_connection(origin(), config).unwrap();
    node
}

/// The datagram that has arrived. Packets are known by a number, and their bytes by nobody.
struct Datagram<'a>(&'a mut [u8]);

impl DeviceSink<u32> for Datagram<'_> {
    fn keep(&mut self, packet: u32) -> Option<u32> {
        Some(packet)
    }

    fn deliver(&mut self, _: DeviceId, _: u32, _kept: bool, _after_gap: bool) {}

    fn discard(&mut self, _: u32) {}
}

impl PacketMemory<u32> for Datagram<'_> {
    fn bytes_mut(&mut self, _: u32) -> &mut [u8] {
        self.0
    }

    fn accept(&mut self, packet: u32, _: ConnectionId, _: Range<usize>) -> u32 {
        packet
    }
}

/// Allocations of `run` after it ran once: the first time tables may still grow to their size.
fn allocations(mut run: impl FnMut(u32)) -> u64 {
    run(0);
    allocation_counter::measure(|| run(1)).count_total
}

#[test]
fn when_sending() {
    for mapping in [Mapping::Packet, Mapping::Flow, Mapping::Duplicate] {
        let mut node = node(mapping);
        let mut flows: Vec<Vec<u8>> =
            (0..500).map(|port| udp("10.0.0.1", "10.1.0.1", port, 2, &[0; 100])).collect();
        let count = allocations(|_| {
            for packet in &mut flows {
                let len = packet.len();
                node.handle_inner(origin(), DEVICE, super_packet(packet, 44, len)).unwrap();
            }
        });
        assert_eq!(count, 0, "{mapping:?}");
    }
}

#[test]
fn when_receiving() {
    let mut node = node(Mapping::Packet);
    let start = origin();
    let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[0; 100]);
    let mut datagram = gre(0, &inner);
    let remotes = [1, 2, 3].map(|n| std::net::SocketAddr::new(ip(&format!("192.0.2.{n}")), PORT));
    let count = allocations(|round| {
        for n in 0..20_000_u32 {
            // Pairs change places, every tenth is missing, every hundredth comes late, some come twice.
            let number = match n % 100 {
                9 | 19 | 29 => continue,
                50 => n - 41,
                60 => n - 1,
                _ => n ^ 1,
            };
            let number = round * 20_000 + number;
            let now = start + Duration::from_micros(u64::from(round * 20_000 + n) * 100);
            while node.next_timeout().is_some_and(|due| due <= now) {
                node.handle_timeout(now, &mut Nowhere);
            }
            datagram[4..8].copy_from_slice(&number.to_be_bytes());
            let path = (n % 3) as usize;
            let from = (SocketId(path as u32 + 1), remotes[path]);
            let memory = &mut Datagram(&mut datagram);
            node.handle_datagram(now, from.0, from.1, Ecn::NotEct, n, memory).unwrap();
        }
    });
    let (_, connection) = node.tunnels().connections().next().unwrap();
    let counters = connection.reorder().unwrap().counters();
    assert!(counters.after_gap > 0 && counters.late > 0 && counters.duplicate > 0, "{counters:?}");
    assert_eq!(count, 0);
}
