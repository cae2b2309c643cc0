//! The properties of two hosts, and one of them: a node with a connection and its session.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::time::{Duration, Instant};

use mpt_core::liveness::{State, Timing};
use mpt_core::session::{Event, PathEvent, PrivateKey, SessionConfig, SessionId};
use mpt_core::{
    ConnectionConfig, ConnectionId, DeviceId, DeviceSink, Direction, DownReason, Mapping, Node,
    PacketMemory, PathConfig, PathId, Remote, Repair, Seal, Selector, Shard, SocketId, StoreId,
    reorder,
};
use mpt_link::Params;
use mpt_wire::control::Kind;
use mpt_wire::ecn;
use mpt_wire::gre;
use mpt_wire::ip::Version;

/// The index of a host, and of the direction in which it sends.
pub type Side = usize;

/// Begins handshakes.
pub const CLIENT: Side = 0;
/// Waits for them.
pub const SERVER: Side = 1;
pub const SIDES: [Side; 2] = [CLIENT, SERVER];

/// Length of the inner packets: headers and an id.
pub(super) const INNER: usize = 20 + 8 + 8;

pub const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The properties of two hosts and their network.
#[derive(Clone, Debug)]
pub struct Setup {
    pub seed: u64,
    /// By path: each way.
    pub links: Vec<Params>,
    /// Whether the server learns the addresses of the client.
    pub learn: bool,
    /// Whether the server begins handshakes, too.
    pub both_initiate: bool,
    /// The server numbers its paths the other way round.
    pub reversed: bool,
    /// By how many ppm each host's clock is fast.
    pub skew: [i64; 2],
    pub timing: Timing,
    pub weights: Vec<u16>,
    /// Whether data is sealed, as each host wants it.
    pub seal: [Seal; 2],
    pub mapping: Mapping,
    pub repair: Repair,
    /// The shard of each host whose node it is.
    pub shards: [Shard; 2],
}

impl Setup {
    /// Paths with these delays, in milliseconds.
    pub fn new(seed: u64, delays: &[u64]) -> Self {
        let link = |&delay| Params { delay: millis(delay), ..Params::default() };
        Self {
            seed,
            links: delays.iter().map(link).collect(),
            learn: false,
            both_initiate: false,
            reversed: false,
            skew: [0, 0],
            timing: Timing::default(),
            weights: vec![1; delays.len()],
            seal: [Seal::Off; 2],
            mapping: Mapping::Packet,
            repair: Repair::Auto,
            shards: [Shard::FIRST; 2],
        }
    }

    pub fn learning(mut self) -> Self {
        self.learn = true;
        self
    }

    pub fn sealed(mut self) -> Self {
        self.seal = [Seal::On; 2];
        self
    }

    pub fn links(mut self, change: impl Fn(&mut Params)) -> Self {
        self.links.iter_mut().for_each(change);
        self
    }
}

/// A datagram on its way.
#[derive(Clone, Debug)]
pub struct Wire {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

/// Received packets are known by their ids.
pub type Packet = u64;
/// The datagram that has just arrived.
pub(super) const WHOLE: Packet = Packet::MAX;

#[derive(Default)]
pub struct Sink {
    pub(super) delivered: Vec<Packet>,
    pub(super) datagram: Vec<u8>,
}

impl PacketMemory<Packet> for Sink {
    fn bytes_mut(&mut self, _: Packet) -> &mut [u8] {
        &mut self.datagram
    }

    fn accept(&mut self, _: Packet, _: ConnectionId, range: Range<usize>) -> Packet {
        let inner = &self.datagram[range];
        u64::from_be_bytes(inner[inner.len() - 8..].try_into().unwrap())
    }
}

impl DeviceSink<Packet> for Sink {
    fn keep(&mut self, packet: Packet) -> Option<Packet> {
        Some(packet)
    }

    fn deliver(&mut self, _: DeviceId, packet: Packet, _kept: bool, _after_gap: bool) {
        self.delivered.push(packet);
    }

    fn discard(&mut self, _: Packet) {}
}

/// One daemon.
pub struct Host {
    pub node: Node<Packet>,
    pub connection: ConnectionId,
    pub session: SessionId,
    pub paths: Vec<PathId>,
    pub events: Vec<Event>,
    pub path_events: Vec<PathEvent>,
    pub(super) sink: Sink,
    /// Packets that wait or are kept, by where the node has them.
    pub(super) store: BTreeMap<StoreId, Vec<u8>>,
    /// Whether packets that are kept after they have left become other ones.
    pub spoils: bool,
    /// Ids of the next packet and of all that were delivered, in order.
    pub sent: u64,
    pub refused: u64,
    pub delivered: Vec<(Instant, u64)>,
    pub running: bool,
    pub(super) lives: u64,
}

impl Host {
    pub(super) fn new(side: Side, setup: &Setup, now: Instant, lives: u64) -> Self {
        let seed = mix(setup.seed, 1000 + side as u64 * 10_000 + lives);
        let mut node = Node::of_shard(setup.shards[side], seed_bytes(seed));
        let config = connection(side, setup);
        let connection = node.add_connection(now, config).expect("the set-up is right");
        let names: Vec<String> = (0..setup.links.len()).map(name).collect();
        let paths =
            names.iter().map(|name| node.tunnels().find_path(connection, name).unwrap()).collect();
        node.set_identity(now, Some(identity(side)));
        Self {
            node,
            connection,
            session: SessionId { shard: setup.shards[side], number: 0 },
            paths,
            events: Vec::new(),
            path_events: Vec::new(),
            sink: Sink::default(),
            store: BTreeMap::new(),
            spoils: false,
            sent: 0,
            refused: 0,
            delivered: Vec::new(),
            running: true,
            lives,
        }
    }

    pub fn path_index(&self, id: PathId) -> usize {
        self.paths.iter().position(|&path| path == id).expect("one of ours")
    }

    /// Takes a path down or up, as its owner does, and says so.
    pub fn set_down(&mut self, now: Instant, path: usize, reason: DownReason, down: bool) {
        let id = self.paths[path];
        self.node.set_path_state(now, id, reason, down);
    }

    pub fn count(&self, is: impl Fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|event| is(event)).count()
    }

    pub fn count_of_paths(&self, is: impl Fn(&PathEvent) -> bool) -> usize {
        self.path_events.iter().filter(|event| is(event)).count()
    }

    /// Returns how often a path came into this state, as events report it.
    pub fn changes(&self, path: usize, state: State) -> usize {
        let id = self.paths[path];
        self.count_of_paths(|event| {
            matches!(*event, PathEvent::State { path, state: now, .. } if path == id && now == state)
        })
    }
}

pub fn identity(side: Side) -> PrivateKey {
    PrivateKey::from_seed(seed_bytes(77 + side as u64))
}

fn name(path: usize) -> String {
    format!("path {path}")
}

/// Returns the address of a side on a path in the beginning.
pub fn address(path: usize, side: Side) -> SocketAddr {
    let ip = IpAddr::V4(Ipv4Addr::new(192, 0, path as u8, 1 + side as u8));
    SocketAddr::new(ip, 4754)
}

pub(super) fn connection(side: Side, setup: &Setup) -> ConnectionConfig {
    let learn = setup.learn && side == SERVER;
    let path = |index: usize| {
        let remote = address(index, 1 - side);
        PathConfig {
            name: name(index),
            sockets: vec![SocketId(index as u32)],
            local: Some(address(index, side).ip()),
            remote: if learn { Remote::Sought(Version::V4) } else { Remote::Fixed(remote) },
            remote_source_port: None,
            weight_out: setup.weights[index],
            weight_in: setup.weights[index],
            rates: mpt_core::RateBounds::NONE,
            tier: 0,
            up: true,
            mtu: 1500,
            entropy: false,
        }
    };
    let mut paths: Vec<PathConfig> = (0..setup.links.len()).map(path).collect();
    if setup.reversed && side == SERVER {
        paths.reverse();
    }
    let network = |side| format!("10.{side}.0.0/16").parse().unwrap();
    ConnectionConfig {
        name: "tunnel".to_owned(),
        device: DeviceId(0),
        selectors: vec![Selector::to(network(1 - side))],
        sources: vec![network(1 - side)],
        key: setup.seed.is_multiple_of(2).then_some(7),
        checksum: false,
        sequence: true,
        direction: Direction::Both,
        mapping: setup.mapping,
        repair: setup.repair,
        prompt: Vec::new(),
        protect: mpt_core::Protect::default(),
        reorder: reorder::Config::default(),
        multicast: false,
        copy_dscp: false,
        ecn: ecn::Mode::Normal,
        mtu: None,
        limits_device: true,
        seal: setup.seal[side],
        loose: false,
        paths,
    }
}

pub(super) fn session(side: Side, setup: &Setup) -> SessionConfig {
    SessionConfig {
        name: "tunnel".to_owned(),
        kind: Kind::Connection,
        peer: identity(1 - side).public(),
        psk: None,
        initiate: side == CLIENT || setup.both_initiate,
        create: false,
        key: None,
        timing: setup.timing,
        largest_wish: 0,
        seal: setup.seal[side],
        remote: None,
    }
}

/// UDP from one side to the other: its id at the end.
pub(super) fn inner(side: Side, id: u64) -> [u8; INNER] {
    let mut packet = [0; INNER];
    packet[..12].copy_from_slice(&[0x45, 0, 0, INNER as u8, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet[12..16].copy_from_slice(&[10, side as u8, 0, 1]);
    packet[16..20].copy_from_slice(&[10, 1 - side as u8, 0, 1]);
    packet[20..28].copy_from_slice(&[0x13, 0x88, 0x14, 0x51, 0, 16, 0, 0]);
    packet[28..].copy_from_slice(&id.to_be_bytes());
    packet
}

/// GRE around something.
pub fn datagram(header: gre::Repr, payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0; header.header_len()];
    header.emit(&mut datagram);
    datagram.extend_from_slice(payload);
    datagram
}

/// A well mixed function of both (SplitMix64, Steele and others 2014).
pub fn mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub fn seed_bytes(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (index, chunk) in (0..).zip(bytes.chunks_mut(8)) {
        chunk.copy_from_slice(&mix(seed, index).to_be_bytes());
    }
    bytes
}
