//! Look-up, scheduling and reordering of a packet, at 1 connection and at 1,000, packets drawn
//! uniformly over all of them.
//!
//! The packets themselves are a small ring in both cases, written for each call: what is measured
//! is the node, not how fast memory delivers packets.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpt_core::{
    ConnectionConfig, ConnectionId, DeviceId, DeviceSink, Direction, InnerPacket, Mapping, Node,
    PacketMemory, PathConfig, Remote, Selector, SocketId, reorder,
};
use mpt_wire::ecn::{self, Ecn};
use mpt_wire::gre;

const DEVICE: DeviceId = DeviceId(0);

/// Connection i is to 10.x.y.0/24, over two paths to 192.x.y.1 and 192.x.y.2.
fn network(connection: u32) -> (u8, u8) {
    ((connection >> 8) as u8, connection as u8)
}

fn node(now: Instant, connections: u32) -> Node<u32> {
    let mut node = Node::new([1; 32]);
    for n in 0..connections {
        let (x, y) = network(n);
        let inner = format!("10.{x}.{y}.0/24").parse().unwrap();
        let path = |path: u8, weight_out| PathConfig {
            name: format!("path{path}"),
            sockets: vec![SocketId(path.into())],
            local: Some(Ipv4Addr::new(198, 51, 100, path).into()),
            remote: Remote::Fixed(SocketAddr::new(Ipv4Addr::new(192, x, y, path).into(), 4754)),
            remote_source_port: None,
            weight_out,
            weight_in: 1,
            rates: mpt_core::RateBounds::NONE,
            tier: 0,
            up: true,
            mtu: 1500,
            entropy: false,
        };
        let config = ConnectionConfig {
            name: n.to_string(),
            device: DEVICE,
            selectors: vec![Selector::to(inner)],
            sources: vec![inner],
            key: None,
            checksum: false,
            sequence: true,
            direction: Direction::Both,
            mapping: Mapping::Packet,
            repair: mpt_core::Repair::Auto,
            prompt: Vec::new(),
            protect: mpt_core::Protect::default(),
            reorder: reorder::Config::default(),
            multicast: false,
            copy_dscp: false,
            ecn: ecn::Mode::Compatibility,
            mtu: None,
            limits_device: true,
            seal: mpt_core::Seal::Off,
            loose: false,
            paths: vec![path(1, 94), path(2, 121)],
        };
        node.add_connection(now, config).unwrap();
    }
    node
}

/// UDP between these hosts, 64 bytes in all; no checksums, as nothing verifies them.
fn packet(source: [u8; 4], destination: [u8; 4]) -> [u8; 64] {
    let mut packet = [0; 64];
    packet[..12].copy_from_slice(&[0x45, 0, 0, 64, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet[12..16].copy_from_slice(&source);
    packet[16..20].copy_from_slice(&destination);
    packet[20..28].copy_from_slice(&[0x13, 0x88, 0x14, 0x51, 0, 44, 0, 0]);
    packet
}

/// A pseudo-random sequence without repetition for 2^32 draws (Weyl), spread over `bound`.
struct Draw(u32);

impl Draw {
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9);
        let mixed = (self.0 ^ (self.0 >> 15)).wrapping_mul(0x2c1b_3c6d);
        ((u64::from(mixed ^ (mixed >> 13)) * u64::from(bound)) >> 32) as u32
    }
}

/// A received datagram. Its packet is delivered to nobody.
struct BlackBox<'a>(&'a mut [u8]);

impl PacketMemory<u32> for BlackBox<'_> {
    fn bytes_mut(&mut self, _: u32) -> &mut [u8] {
        self.0
    }

    fn accept(&mut self, packet: u32, _: ConnectionId, _: Range<usize>) -> u32 {
        packet
    }
}

impl DeviceSink<u32> for BlackBox<'_> {
    fn keep(&mut self, packet: u32) -> Option<u32> {
        Some(packet)
    }

    fn deliver(&mut self, _: DeviceId, packet: u32, _: bool, _: bool) {
        black_box(packet);
    }

    fn discard(&mut self, _: u32) {}
}

fn send(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("endpoint/send");
    group.throughput(Throughput::Elements(1));
    #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
    let now = Instant::now();
    for connections in [1, 1_000] {
        let mut node = node(now, connections);
        let mut draw = Draw(1);
        let mut bytes = packet([10, 255, 0, 1], [0; 4]);
        group.bench_function(BenchmarkId::from_parameter(connections), |bencher| {
            bencher.iter(|| {
                let (x, y) = network(draw.below(connections));
                bytes[16..20].copy_from_slice(&[10, x, y, 1]);
                let packet = InnerPacket::whole(&mut bytes).unwrap();
                let outgoing = node.handle_inner(now, DEVICE, packet);
                black_box(outgoing.unwrap().transmits[0])
            });
        });
    }
    group.finish();
}

/// A datagram of connection n, written over the one before.
fn arrive(datagram: &mut [u8; 8 + 64], n: u32, number: u32) -> (SocketId, SocketAddr) {
    let (x, y) = network(n);
    let header = gre::Repr {
        protocol: gre::Protocol::IPV4,
        checksum: false,
        key: None,
        sequence: Some(number),
    };
    header.emit(&mut datagram[..8]);
    datagram[8..].copy_from_slice(&packet([10, x, y, 1], [10, 255, 0, 1]));
    let path = 1 + (number & 1) as u8;
    let remote = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, x, y, path)), 4754);
    (SocketId(path.into()), remote)
}

/// Assignment, checks and reordering of packets that come in order.
fn receive(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("endpoint/receive");
    group.throughput(Throughput::Elements(1));
    #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
    let mut now = Instant::now();
    for connections in [1_u32, 1_000] {
        let mut node = node(now, connections);
        let mut numbers = vec![0_u32; connections as usize];
        let mut draw = Draw(1);
        let mut datagram = [0; 8 + 64];
        group.bench_function(BenchmarkId::from_parameter(connections), |bencher| {
            bencher.iter(|| {
                let n = draw.below(connections);
                let number = &mut numbers[n as usize];
                let (socket, remote) = arrive(&mut datagram, n, *number);
                *number += 1;
                now += Duration::from_micros(1);
                let memory = &mut BlackBox(&mut datagram);
                node.handle_datagram(now, socket, remote, Ecn::NotEct, n, memory).unwrap();
            });
        });
    }
    group.finish();
}

criterion_group!(benches, send, receive);
criterion_main!(benches);
