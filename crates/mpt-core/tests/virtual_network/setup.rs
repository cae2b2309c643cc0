//! The properties of a virtual network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use mpt_core::{
    ConnectionConfig, DeviceId, Direction, Mapping, PathConfig, Remote, Selector, reorder,
};
use mpt_link::{Distribution, Jitter, Loss, Params, Probability, Redraw};
use mpt_wire::{ecn, gre};

use super::{SIDES, Side, socket};

/// One path. Sides index what each direction has of its own.
#[derive(Clone, Debug)]
pub struct PathSetup {
    pub links: [Params; 2],
    pub weights: [u16; 2],
    pub outer_v6: bool,
}

/// IP versions of the inner packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    V4,
    /// One flow this, the next one that.
    Both,
}

/// Everything.
#[derive(Clone, Debug)]
pub struct Setup {
    pub seed: u64,
    pub paths: Vec<PathSetup>,
    pub reorder: reorder::Config,
    pub mapping: Mapping,
    pub key: Option<u32>,
    pub checksum: bool,
    pub inner: Inner,
    /// The number of flows to which the packets belong, in turn.
    pub flows: u16,
    /// Added to every sequence number on the wire: as from a peer that began there.
    pub first_number: u32,
}

pub const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub fn probability(value: f64) -> Probability {
    Probability::new(value).expect("from 0 to 1")
}

impl PathSetup {
    /// The same delay both ways, weight 1, IPv4, and nothing else.
    pub fn new(delay: Duration) -> Self {
        let params = Params { delay, ..Params::default() };
        Self { links: [params; 2], weights: [1, 1], outer_v6: false }
    }

    /// Weights for what each side sends.
    pub fn weights(mut self, weights: [u16; 2]) -> Self {
        self.weights = weights;
        self
    }

    /// Both ways.
    pub fn loss(self, p: f64) -> Self {
        self.links(|link| link.loss = Loss::Bernoulli(probability(p)))
    }

    /// Normal, both ways; packets overtake one another.
    pub fn jitter(self, deviation: Duration) -> Self {
        let distribution = Distribution::Normal { deviation };
        let jitter = Some(Jitter { distribution, redraw: Redraw::EveryPacket });
        self.links(|link| link.jitter = jitter)
    }

    /// Copies made by the network, both ways.
    pub fn duplication(self, p: f64) -> Self {
        self.links(|link| link.duplication = probability(p))
    }

    /// Packets of this path stay in order, both ways.
    pub fn keep_order(self) -> Self {
        self.links(|link| link.keep_order = true)
    }

    /// Outer packets are IPv6.
    pub fn outer_v6(mut self) -> Self {
        self.outer_v6 = true;
        self
    }

    fn links(mut self, change: impl Fn(&mut Params)) -> Self {
        self.links.iter_mut().for_each(change);
        self
    }
}

impl Setup {
    /// The seed of the nodes.
    pub fn seed_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.seed.to_be_bytes());
        bytes
    }

    /// The defaults of a connection, over these paths. The seed decides about GRE checksum and key, too: neither may make
    /// a difference to anything.
    pub fn new(seed: u64, paths: Vec<PathSetup>) -> Self {
        Self {
            seed,
            paths,
            reorder: reorder::Config::default(),
            mapping: Mapping::Packet,
            key: seed.is_multiple_of(3).then_some(0x6d70_7421),
            checksum: seed.is_multiple_of(2),
            inner: Inner::V4,
            flows: 8,
            first_number: 0,
        }
    }

    /// The papers' rule: a gap is given up after the maximum delay and not before, what comes later is dropped.
    pub fn papers_rule(mut self) -> Self {
        self.reorder.early_release = false;
        self.reorder.late = reorder::Late::Drop;
        self
    }

    /// Over 2 and over 12 paths with unequal weights (also between the directions), delays, jitter, loss and copies.
    pub fn mixed_paths(seed: u64) -> [Self; 2] {
        let two = vec![
            PathSetup::new(millis(5)).weights([94, 3]).jitter(millis(1)).loss(0.01),
            PathSetup::new(millis(55))
                .weights([121, 1])
                .jitter(millis(5))
                .loss(0.02)
                .duplication(0.01),
        ];
        let twelve = (0..12_u16).map(|n| {
            PathSetup::new(millis(5 + 4 * u64::from(n)))
                .weights([1 + n % 5, 1 + n * 7 % 11])
                .jitter(millis(u64::from(n % 4)))
                .loss(0.002 * f64::from(n % 3))
                .duplication(if n == 7 { 0.02 } else { 0.0 })
        });
        [Self::new(seed, two), Self::new(seed, twelve.collect())]
    }

    pub(super) fn connection(&self, side: Side) -> ConnectionConfig {
        let paths = self.paths.iter().enumerate().map(|(index, path)| {
            let peer = address(self, index, 1 - side);
            PathConfig {
                name: format!("path {index}"),
                sockets: vec![socket(index)],
                local: Some(address(self, index, side).ip()),
                remote: Remote::Fixed(SocketAddr::new(peer.ip(), gre::PORT)),
                remote_source_port: Some(peer.port()),
                weight_out: path.weights[side],
                weight_in: path.weights[1 - side],
                rates: mpt_core::RateBounds::NONE,
                tier: 0,
                up: true,
                mtu: 1500,
                entropy: false,
            }
        });
        let peers = networks(1 - side);
        ConnectionConfig {
            name: "tunnel".to_owned(),
            device: DeviceId(0),
            selectors: peers.map(Selector::to).to_vec(),
            sources: peers.to_vec(),
            key: self.key,
            checksum: self.checksum,
            sequence: true,
            direction: Direction::Both,
            mapping: self.mapping,
            repair: mpt_core::Repair::Auto,
            prompt: Vec::new(),
            protect: mpt_core::Protect::default(),
            reorder: self.reorder,
            multicast: false,
            copy_dscp: false,
            ecn: ecn::Mode::Normal,
            mtu: None,
            limits_device: true,
            seal: mpt_core::Seal::Off,
            loose: false,
            paths: paths.collect(),
        }
    }
}

/// The address of a side on a path, and the port from which it sends.
pub(super) fn address(setup: &Setup, path: usize, side: Side) -> SocketAddr {
    debug_assert!(SIDES.contains(&side));
    let (path_byte, side_byte) = (path as u8, 1 + side as u8);
    let ip = if setup.paths[path].outer_v6 {
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, path as u16, 0, 0, 0, u16::from(side_byte)))
    } else {
        IpAddr::V4(Ipv4Addr::new(192, 0, path_byte, side_byte))
    };
    SocketAddr::new(ip, 50_000 + path as u16)
}

/// The networks behind a side.
pub(super) fn networks(side: Side) -> [IpNet; 2] {
    let v4 = Ipv4Net::new_assert(host_v4(side, 0), 24);
    let v6 = Ipv6Net::new_assert(host_v6(side, 0), 64);
    [v4.into(), v6.into()]
}

pub(super) fn host_v4(side: Side, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, side as u8, host)
}

pub(super) fn host_v6(side: Side, host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, side as u16, 0, 0, 0, host)
}
