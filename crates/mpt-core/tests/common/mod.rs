//! Packets, configurations and a sink for the tests.
#![allow(dead_code, unreachable_pub, reason = "every test has its own copy and needs a part of it")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::time::{Duration, Instant};

use mpt_core::{
    ConnectionConfig, ConnectionId, DatagramDrop, DeviceId, DeviceSink, Direction, InnerDrop,
    InnerPacket, Mapping, Node, PacketMemory, PathConfig, Remote, Selector, SocketId, Transmit,
    reorder,
};
use mpt_wire::ecn;

pub const DEVICE: DeviceId = DeviceId(0);
pub const PORT: u16 = 4754;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;

/// Some instant: the origin of a test's time.
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
pub fn origin() -> Instant {
    Instant::now()
}

pub fn ip(address: &str) -> IpAddr {
    address.parse().unwrap()
}

/// The other end of a path, as it is configured.
pub fn at(address: &str) -> Remote {
    Remote::Fixed(address.parse().unwrap())
}

/// A path to `192.0.2.n` over socket n, with weight 1.
pub fn path(n: u8) -> PathConfig {
    PathConfig {
        name: format!("path{n}"),
        sockets: vec![SocketId(u32::from(n))],
        local: Some(ip("198.51.100.1")),
        remote: Remote::Fixed(SocketAddr::new(Ipv4Addr::new(192, 0, 2, n).into(), PORT)),
        remote_source_port: None,
        weight_out: 1,
        weight_in: 1,
        rates: mpt_core::RateBounds::NONE,
        tier: 0,
        up: true,
        mtu: 1500,
        entropy: false,
    }
}

/// Paths 1, 2, ... with these weights.
pub fn paths(weights: &[u16]) -> Vec<PathConfig> {
    (1..).zip(weights).map(|(n, &weight_out)| PathConfig { weight_out, ..path(n) }).collect()
}

/// From 10.0.0.0/16 to 10.1.0.0/16 and back, with sequence numbers and packet mapping.
pub fn connection(paths: Vec<PathConfig>) -> ConnectionConfig {
    ConnectionConfig {
        name: "main".into(),
        device: DEVICE,
        selectors: vec![Selector::to("10.1.0.0/16".parse().unwrap())],
        sources: vec!["10.1.0.0/16".parse().unwrap()],
        key: None,
        checksum: false,
        sequence: true,
        direction: Direction::Both,
        mapping: Mapping::Packet,
        repair: mpt_core::Repair::Auto,
        prompt: Vec::new(),
        protect: mpt_core::Protect::default(),
        reorder: reorder::Config {
            window: Some(64),
            max_delay: Some(Duration::from_millis(300)),
            early_release: true,
            late: reorder::Late::Deliver,
            equalize: reorder::Equalize::default(),
        },
        multicast: false,
        copy_dscp: false,
        ecn: ecn::Mode::Compatibility,
        mtu: None,
        limits_device: true,
        seal: mpt_core::Seal::Off,
        loose: false,
        paths,
    }
}

/// The same between fd00::/64 and fd01::/64, over paths of IPv6.
pub fn connection_v6() -> ConnectionConfig {
    let path = PathConfig { local: None, remote: at("[2001:db8::2]:4754"), ..path(1) };
    ConnectionConfig {
        selectors: vec![Selector::to("fd01::/64".parse().unwrap())],
        sources: vec!["fd01::/64".parse().unwrap()],
        ..connection(vec![path])
    }
}

/// A node with one connection.
pub fn node(config: ConnectionConfig) -> Node<Packet> {
    let mut node = Node::new([1; 32]);
    node.add_connection(origin(), config).unwrap();
    node
}

/// Handle of a received packet: its bytes, which the tests never free.
pub type Packet = &'static [u8];

/// The packets that the device got, in order.
#[derive(Debug, Default)]
pub struct Device {
    pub delivered: Vec<Packet>,
    pub discarded: usize,
}

impl DeviceSink<Packet> for Device {
    fn keep(&mut self, packet: Packet) -> Option<Packet> {
        Some(packet)
    }

    fn deliver(&mut self, _: DeviceId, packet: Packet, _kept: bool, _after_gap: bool) {
        self.delivered.push(packet);
    }

    fn discard(&mut self, _: Packet) {
        self.discarded += 1;
    }
}

/// A datagram on its way in: its bytes, and the device that its packet may reach.
pub struct Arriving<'a> {
    pub datagram: Vec<u8>,
    pub device: &'a mut Device,
}

impl DeviceSink<Packet> for Arriving<'_> {
    fn keep(&mut self, packet: Packet) -> Option<Packet> {
        self.device.keep(packet)
    }

    fn deliver(&mut self, device: DeviceId, packet: Packet, kept: bool, after_gap: bool) {
        self.device.deliver(device, packet, kept, after_gap);
    }

    fn discard(&mut self, packet: Packet) {
        self.device.discard(packet);
    }
}

impl PacketMemory<Packet> for Arriving<'_> {
    fn bytes_mut(&mut self, _: Packet) -> &mut [u8] {
        &mut self.datagram
    }

    fn accept(&mut self, _: Packet, _: ConnectionId, inner: Range<usize>) -> Packet {
        self.datagram[inner].to_vec().leak()
    }
}

/// A packet that is to become several, the largest of `largest` bytes.
pub fn super_packet(bytes: &mut [u8], segments: u16, largest: usize) -> InnerPacket<'_> {
    InnerPacket { segments, largest, ..InnerPacket::whole(bytes).expect("it is an IP packet") }
}

/// Hands in a packet as it is; gives the transmits.
pub fn send<P: Copy>(node: &mut Node<P>, packet: &[u8]) -> Result<Vec<Transmit>, InnerDrop> {
    let mut packet = packet.to_vec();
    let largest = packet.len();
    let outgoing = node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 1, largest))?;
    Ok(outgoing.transmits.to_vec())
}

/// The names of the paths (their number) that get the next packets.
pub fn send_many<P: Copy>(node: &mut Node<P>, packets: usize) -> Vec<u8> {
    let packet = udp("10.0.0.1", "10.1.0.1", 1000, 2000, &[0; 100]);
    let mut sent = Vec::new();
    for _ in 0..packets {
        for transmit in send(node, &packet).unwrap() {
            let name = node.tunnels().path(transmit.path).unwrap().name();
            sent.push(name.strip_prefix("path").unwrap().parse().unwrap());
        }
    }
    sent
}

/// Hands in a datagram from path n.
pub fn receive(
    node: &mut Node<Packet>,
    now: Instant,
    n: u8,
    datagram: &[u8],
    device: &mut Device,
) -> Result<(), DatagramDrop> {
    let remote = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, n)), PORT);
    receive_from(node, now, SocketId(u32::from(n)), remote, datagram, device)
}

/// Hands in a datagram from anywhere.
pub fn receive_from(
    node: &mut Node<Packet>,
    now: Instant,
    socket: SocketId,
    remote: SocketAddr,
    datagram: &[u8],
    device: &mut Device,
) -> Result<(), DatagramDrop> {
    receive_marked(node, (now, socket, remote), ecn::Ecn::NotEct, datagram, device)
}

/// Hands in a datagram with these bits in its outer header.
pub fn receive_marked(
    node: &mut Node<Packet>,
    (now, socket, remote): (Instant, SocketId, SocketAddr),
    ecn: ecn::Ecn,
    datagram: &[u8],
    device: &mut Device,
) -> Result<(), DatagramDrop> {
    let mut arriving = Arriving { datagram: datagram.to_vec(), device };
    node.handle_datagram(now, socket, remote, ecn, &[], &mut arriving)
}

/// The sum of all counters in which a packet from the network can end.
pub fn received_total<P: Copy>(node: &Node<P>) -> u64 {
    let connections = node
        .tunnels()
        .connections()
        .map(|(_, connection)| connection.accepted().total() + connection.datagram_drops().total());
    node.tunnels().datagram_drops().total() + connections.sum::<u64>()
}

/// The sum of all counters in which a packet from a device can end.
pub fn sent_total<P: Copy>(node: &Node<P>) -> u64 {
    let connections = node
        .tunnels()
        .connections()
        .map(|(_, connection)| connection.sent().packets + connection.inner_drops().total());
    node.tunnels().inner_drops().total() + connections.sum::<u64>()
}

/// GRE header with a sequence number.
pub fn gre(sequence: u32, inner: &[u8]) -> Vec<u8> {
    let mut bytes = gre_header(0x1000, inner);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(inner);
    bytes
}

/// GRE header of 4 bytes.
pub fn gre_plain(inner: &[u8]) -> Vec<u8> {
    let mut bytes = gre_header(0, inner);
    bytes.extend(inner);
    bytes
}

/// GRE header with a key and a sequence number.
pub fn gre_key(key: u32, sequence: u32, inner: &[u8]) -> Vec<u8> {
    let mut bytes = gre_header(0x3000, inner);
    bytes.extend(key.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(inner);
    bytes
}

fn gre_header(flags: u16, inner: &[u8]) -> Vec<u8> {
    let protocol: u16 =
        if inner.first().is_some_and(|byte| byte >> 4 == 6) { 0x86dd } else { 0x0800 };
    [flags.to_be_bytes(), protocol.to_be_bytes()].concat()
}

/// IPv4 or IPv6 with the given upper-layer bytes.
pub fn packet(source: &str, destination: &str, protocol: u8, payload: &[u8]) -> Vec<u8> {
    match (ip(source), ip(destination)) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            packet_v4(source, destination, protocol, payload)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            packet_v6(source, destination, protocol, payload)
        }
        _ => panic!("addresses of two versions"),
    }
}

fn packet_v4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, protocol, 0, 0];
    bytes.extend(source.octets());
    bytes.extend(destination.octets());
    bytes.extend(payload);
    let length = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    fill_ipv4_checksum(&mut bytes);
    bytes
}

fn packet_v6(source: Ipv6Addr, destination: Ipv6Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((payload.len() as u16).to_be_bytes());
    bytes.extend([protocol, 64]);
    bytes.extend(source.octets());
    bytes.extend(destination.octets());
    bytes.extend(payload);
    bytes
}

/// Computes the header checksum of an IPv4 packet without options anew.
pub fn fill_ipv4_checksum(bytes: &mut [u8]) {
    bytes[10..12].fill(0);
    let sum: u32 =
        bytes[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// UDP, its checksum 0.
pub fn udp(source: &str, destination: &str, from: u16, to: u16, data: &[u8]) -> Vec<u8> {
    let length = 8 + data.len() as u16;
    let mut bytes = [from, to, length, 0].map(u16::to_be_bytes).concat();
    bytes.extend(data);
    packet(source, destination, UDP, &bytes)
}

/// TCP with these flags and options, its checksum 0.
pub fn tcp(source: &str, destination: &str, flags: u8, options: &[u8], data: &[u8]) -> Vec<u8> {
    assert!(options.len().is_multiple_of(4));
    let mut bytes = vec![0x13, 0x88, 0x14, 0x51, 0, 0, 0, 1, 0, 0, 0, 0];
    bytes.extend([((5 + options.len() / 4) << 4) as u8, flags, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.extend(data);
    packet(source, destination, TCP, &bytes)
}
