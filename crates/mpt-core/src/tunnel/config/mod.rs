//! The configuration of connections and paths, the mistakes that it can have, and advice for it.

pub mod advise;
mod configure;
pub(super) mod remote;

use std::net::IpAddr;

use ipnet::IpNet;
use mpt_wire::{ecn, gre, ip};
use thiserror::Error;

use crate::path::mtu;
use crate::tunnel::id::INDICES;
use crate::{DeviceId, Mapping, RateBounds, Seal, Selector, SocketId, reorder};
use remote::Remote;

/// A tunnel between two hosts.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// The name, unique within the daemon.
    pub name: String,
    /// The TUN device whose packets the connection carries, and to which it delivers.
    pub device: DeviceId,
    /// The packets from the device that the connection carries.
    pub selectors: Vec<Selector>,
    /// The inner source addresses that are accepted from the peer; no others are.
    pub sources: Vec<IpNet>,
    /// The GRE key (RFC 2890) of its packets, both ways. Without one, packets that have a key are
    /// refused.
    pub key: Option<u32>,
    /// True if packets are sent with the GRE checksum (RFC 2784). Received packets are verified
    /// wherever they have one.
    pub checksum: bool,
    /// Sets whether the data of the connection is sealed under the keys of its session. If so, no
    /// plain packet is sent or accepted unless the session finds that the peer does not seal;
    /// `key`, `checksum` and `sequence` do not apply to the header of sealed packets.
    pub seal: Seal,
    /// True if packets are numbered (RFC 2890): sent with a number unless the mapping is
    /// [`Mapping::Flow`], and put in order on receive where they carry one. Packets without a
    /// number are delivered at once.
    pub sequence: bool,
    /// The direction in which the connection carries data.
    pub direction: Direction,
    /// The mapping of packets to paths.
    pub mapping: Mapping,
    /// The treatment of packets that are lost; it concerns adaptive mapping only.
    pub repair: Repair,
    /// The packets that never wait for numbers that are missing before them, described by what they are an
    /// answer to: a packet from the peer is one if a selector matches it with source and destination exchanged.
    pub prompt: Vec<Selector>,
    /// The packets that forward error correction protects, with [`Mapping::Adaptive`].
    pub protect: Protect,
    /// The settings of the reorder buffer.
    pub reorder: reorder::Config,
    /// True if it carries the multicast, broadcast and link-local packets of its device. At most
    /// one connection of a device does.
    pub multicast: bool,
    /// True if the outer header gets the DSCP of the inner one (else 0).
    pub copy_dscp: bool,
    /// The treatment of ECN in the outer header (RFC 6040).
    pub ecn: ecn::Mode,
    /// The upper limit of the inner MTU in bytes, where the paths would allow more.
    pub mtu: Option<u16>,
    /// True if the inner MTU of the device is at most that of the connection. It is false for a
    /// connection that a peer asked for: then packets that are too large are answered, and the
    /// device keeps its MTU.
    pub limits_device: bool,
    /// True if the GRE protocol type may be that of the other IP version, packets that are not IP
    /// are messages of a prototype ([`crate::compat`]), and the peer may number from 0
    /// again without notice ([`reorder::ReorderBuffer::expect_restarts`]).
    pub loose: bool,
    /// The paths: at least one, at most [`ConnectionConfig::MAX_PATHS`].
    pub paths: Vec<PathConfig>,
}

/// A pair of addresses over which a connection runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathConfig {
    /// The name, unique within the connection.
    pub name: String,
    /// The sockets on which its packets may arrive: several with entropy source ports, none while
    /// there is no socket.
    pub sockets: Vec<SocketId>,
    /// The source address of its outer packets, where known.
    pub local: Option<IpAddr>,
    /// The remote end of the path.
    pub remote: Remote,
    /// The UDP source port of received packets; `None` accepts any (a peer with entropy source
    /// ports, or behind a NAT).
    pub remote_source_port: Option<u16>,
    /// The share of what this end sends, 1..=65,535.
    pub weight_out: u16,
    /// The share of what the peer sends, 1..=65,535, which is expected until enough has arrived to
    /// measure it.
    pub weight_in: u16,
    /// The bounds of the rate that is learnt, of a connection with [`Mapping::Adaptive`]. They mean
    /// nothing with other mappings.
    pub rates: RateBounds,
    /// The tier: the path carries data only while every path with a smaller number is down.
    pub tier: u8,
    /// True if the path is to be used; otherwise it is [`crate::DownReason::Administrative`].
    pub up: bool,
    /// The MTU of the link in bytes of the outer IP packet.
    pub mtu: u16,
    /// True if source ports follow the flow (RFC 8086, section 3.2.1): then the packets of one path
    /// arrive in any order.
    pub entropy: bool,
}

/// The direction in which a connection carries data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the device to the network.
    Send,
    /// From the network to the device.
    Receive,
    /// Both ways.
    #[default]
    Both,
}

/// The treatment of packets that are lost: of those that are sent with [`Mapping::Adaptive`], and of those that are
/// received from a peer that sends in this way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Repair {
    /// Packets are sent again as soon as they are known to be lost, where the peer asks for them. Bulk flows wait
    /// for what is sent again; what is wanted at once does not.
    #[default]
    Auto,
    /// Packets are sent again as in `Auto`, and every packet that is received waits for those before it.
    All,
    /// Packets are not sent again.
    Off,
}

/// The packets from the device that forward error correction protects: those of DSCP EF, and others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protect {
    /// Packets that are protected besides.
    pub on: Vec<Selector>,
    /// Packets that are not protected, whatever else is configured.
    pub off: Vec<Selector>,
}

impl Protect {
    /// The DSCP of packets that are protected without being selected: expedited forwarding (RFC 3246).
    const EXPEDITED: u8 = 46;

    /// Returns true if a packet is protected.
    pub(crate) fn covers(&self, packet: &ip::Summary) -> bool {
        let any = |selectors: &[Selector]| selectors.iter().any(|it| it.matches(packet));
        !any(&self.off) && (packet.dscp() == Self::EXPEDITED || any(&self.on))
    }
}

impl Direction {
    /// Returns true if it carries packets from the device.
    pub fn sends(self) -> bool {
        self != Self::Receive
    }

    /// Returns true if it carries packets to the device.
    pub fn receives(self) -> bool {
        self != Self::Send
    }
}

/// The reason for which a configuration cannot work. Names are those of connections and paths.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ConfigError {
    #[error("two connections are named \"{name}\"")]
    DuplicateConnection { name: String },
    #[error("connection \"{connection}\": two paths are named \"{name}\"")]
    DuplicatePath { connection: String, name: String },
    #[error("connection \"{connection}\" has no path")]
    NoPath { connection: String },
    #[error("connection \"{connection}\" has more than {} paths", ConnectionConfig::MAX_PATHS)]
    TooManyPaths { connection: String },
    #[error("connection \"{connection}\", path \"{path}\": a weight must be from 1 to 65535")]
    ZeroWeight { connection: String, path: String },
    #[error(
        "connection \"{connection}\" has a mapping that does not learn rates: path \"{path}\" can have \
         none that bound them"
    )]
    RatesWithoutAdaptive { connection: String, path: String },
    #[error(
        "connection \"{connection}\", path \"{path}\": an MTU of {mtu} is below the {minimum} \
         bytes that every such link has"
    )]
    PathMtu { connection: String, path: String, mtu: u16, minimum: u16 },
    #[error(
        "connection \"{connection}\" carries IPv6, but its inner MTU is {mtu}, below the 1280 \
         bytes that IPv6 needs"
    )]
    Ipv6Mtu { connection: String, mtu: u16 },
    #[error(
        "connection \"{connection}\": an inner MTU of {mtu} is below {} bytes",
        mtu::IPV4_MINIMUM
    )]
    InnerMtu { connection: String, mtu: u16 },
    #[error(
        "connection \"{connection}\", path \"{path}\": local and remote address are of \
         different IP versions"
    )]
    MixedPath { connection: String, path: String },
    #[error(
        "connection \"{connection}\": source and destination of a selector are of different IP \
         versions"
    )]
    MixedSelector { connection: String },
    #[error(
        "connection \"{connection}\": a selector with ports must name a protocol that has ports \
         (TCP 6, UDP 17, DCCP 33, SCTP 132, UDP-Lite 136)"
    )]
    PortsWithoutProtocol { connection: String },
    #[error("connection \"{connection}\": a DSCP must be from 0 to 63")]
    Dscp { connection: String },
    #[error("connection \"{connection}\": duplicate mapping needs sequence numbers")]
    DuplicateWithoutSequence { connection: String },
    #[error("connections \"{first}\" and \"{second}\" have equal selectors")]
    EqualSelectors { first: String, second: String },
    #[error("connections \"{first}\" and \"{second}\" of one device both have multicast = true")]
    TwoMulticast { first: String, second: String },
    #[error(
        "paths \"{first}\" and \"{second}\" receive from the same address on the same socket: \
         their connections need different GRE keys"
    )]
    SameTuple { first: String, second: String },
    #[error("there is no such connection or path (any more)")]
    Gone,
    #[error(
        "a daemon can have {INDICES} connections, and as many paths in all of them: there is no room for more"
    )]
    Full,
}

impl ConnectionConfig {
    /// The most paths of a connection.
    pub const MAX_PATHS: usize = 256;

    /// Checks a connection by itself.
    pub fn check(&self) -> Result<(), ConfigError> {
        let connection = || self.name.clone();
        if self.paths.is_empty() {
            return Err(ConfigError::NoPath { connection: connection() });
        }
        if self.paths.len() > Self::MAX_PATHS {
            return Err(ConfigError::TooManyPaths { connection: connection() });
        }
        for (index, path) in self.paths.iter().enumerate() {
            if self.paths[..index].iter().any(|other| other.name == path.name) {
                let name = path.name.clone();
                return Err(ConfigError::DuplicatePath { connection: connection(), name });
            }
            path.check(&self.name)?;
        }
        for selector in &self.selectors {
            self.check_selector(selector)?;
        }
        if self.mapping == Mapping::Duplicate && !self.sequence {
            return Err(ConfigError::DuplicateWithoutSequence { connection: connection() });
        }
        let mtu = self.inner_mtu(self.paths.iter());
        if mtu < mtu::IPV6_MINIMUM && self.carries_ipv6() {
            return Err(ConfigError::Ipv6Mtu { connection: connection(), mtu });
        }
        // Below it only where a path, not the limit, is that small.
        if self.mtu.is_some_and(|limit| limit < mtu::IPV4_MINIMUM) {
            return Err(ConfigError::InnerMtu { connection: connection(), mtu });
        }
        Ok(())
    }

    pub(crate) fn check_selector(&self, selector: &Selector) -> Result<(), ConfigError> {
        let connection = || self.name.clone();
        let version = |net: IpNet| net.addr().is_ipv4();
        if selector.source.is_some_and(|source| version(source) != version(selector.destination)) {
            return Err(ConfigError::MixedSelector { connection: connection() });
        }
        let ports = selector.source_ports.or(selector.destination_ports).is_some();
        if ports && !matches!(selector.protocol, Some(6 | 17 | 33 | 132 | 136)) {
            return Err(ConfigError::PortsWithoutProtocol { connection: connection() });
        }
        if selector.dscp.is_some_and(|dscp| dscp > 63) {
            return Err(ConfigError::Dscp { connection: connection() });
        }
        Ok(())
    }

    /// Returns true if what it sends carries sequence numbers.
    pub fn numbers(&self) -> bool {
        self.sequence && self.mapping != Mapping::Flow
    }

    /// Returns the GRE header of what it sends.
    fn header(&self, protocol: gre::Protocol) -> gre::Template {
        let Self { checksum, key, .. } = *self;
        gre::Template { protocol, checksum, key, numbered: self.numbers() }
    }

    /// Bytes between the UDP header and the inner packet, and behind that: the GRE header, or what
    /// sealing takes. If sealing is wanted, it is always counted, so that sizes stay the same
    /// whatever the peer can do.
    pub fn encapsulation(&self) -> u16 {
        match self.seal.is_wanted() {
            true => mtu::SEALED,
            false => self.header(gre::Protocol::IPV4).header_len() as u16,
        }
    }

    /// Returns true if what it receives is put in order.
    pub(crate) fn reorders(&self) -> bool {
        self.sequence && self.direction.receives()
    }

    /// Largest inner packet in bytes over all of these paths.
    fn inner_mtu<'a>(&self, paths: impl Iterator<Item = &'a PathConfig>) -> u16 {
        paths.map(|path| self.inner_mtu_of(path, path.mtu)).min().unwrap_or(u16::MAX)
    }

    /// Returns true if any IPv6 packet is meant to be carried.
    pub(crate) fn carries_ipv6(&self) -> bool {
        let mut networks =
            self.selectors.iter().map(|selector| &selector.destination).chain(&self.sources);
        networks.any(|network| matches!(network, IpNet::V6(_)))
    }
}

impl PathConfig {
    /// IP version of its outer packets.
    pub fn outer(&self) -> ip::Version {
        self.remote.version()
    }

    /// Becomes `new`, which keeps a remote address that was learnt.
    pub(crate) fn replace(&mut self, new: &Self) {
        let (before, source_port) = (self.remote.address(), self.remote_source_port);
        *self = new.clone();
        if let (Remote::Sought(_), Some(found)) = (new.remote, before) {
            (self.remote, self.remote_source_port) = (Remote::Found(found), source_port);
            // The peer was found in the other IP version.
            self.local = self.local.filter(|local| local.is_ipv4() == found.is_ipv4());
            self.mtu = self.mtu.max(mtu::minimum(self.outer()));
        }
    }

    pub(crate) fn check(&self, connection: &str) -> Result<(), ConfigError> {
        let (connection, path) = (connection.to_owned(), self.name.clone());
        if self.weight_out == 0 || self.weight_in == 0 {
            return Err(ConfigError::ZeroWeight { connection, path });
        }
        let minimum = mtu::minimum(self.outer());
        if self.mtu < minimum {
            return Err(ConfigError::PathMtu { connection, path, mtu: self.mtu, minimum });
        }
        if self.local.is_some_and(|local| ip::Version::of(local) != self.outer()) {
            return Err(ConfigError::MixedPath { connection, path });
        }
        Ok(())
    }
}
