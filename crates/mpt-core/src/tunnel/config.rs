//! What a connection is configured to be, and what is wrong with a configuration.

use std::net::IpAddr;

use ipnet::IpNet;
use mpt_wire::{ecn, gre, ip};
use thiserror::Error;

use crate::path::mtu;
use crate::{DeviceId, Mapping, Seal, Selector, SocketId, reorder};

/// A tunnel between two hosts.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// Unique within the daemon.
    pub name: String,
    /// The TUN device whose packets it carries and to which it delivers.
    pub device: DeviceId,
    /// Which packets from the device it carries.
    pub selectors: Vec<Selector>,
    /// Inner source addresses accepted from the peer; none but these.
    pub sources: Vec<IpNet>,
    /// GRE key (RFC 2890) of its packets, both ways; without one, packets that have a key are
    /// refused.
    pub key: Option<u32>,
    /// Whether to send the GRE checksum (RFC 2784). On receive it is verified wherever present.
    pub checksum: bool,
    /// Whether its data is sealed under the keys of its session. Then nothing plain is sent or accepted
    /// unless the session says that the peer does not seal, and `key`, `checksum` and `sequence` say
    /// nothing about the header of sealed packets.
    pub seal: Seal,
    /// Whether packets are numbered (RFC 2890): sent with a number unless the mapping is
    /// [`Mapping::Flow`], and put in order on receive where they carry one. Packets without a
    /// number are delivered at once.
    pub sequence: bool,
    /// Whether it sends, receives or both.
    pub direction: Direction,
    /// How packets to send are mapped to paths.
    pub mapping: Mapping,
    /// What becomes of packets that are lost; concerns adaptive mapping only.
    pub repair: Repair,
    /// How received packets are put in order.
    pub reorder: reorder::Config,
    /// Whether it carries the multicast, broadcast and link-local packets of its device. At most
    /// one connection of a device does.
    pub multicast: bool,
    /// Whether the outer header gets the DSCP of the inner one (else 0).
    pub copy_dscp: bool,
    /// How ECN is put on the outer header (RFC 6040).
    pub ecn: ecn::Mode,
    /// Upper limit of the inner MTU in bytes, where the paths would allow more.
    pub mtu: Option<u16>,
    /// Whether the inner MTU of its device is at most its own. Not so for a connection that somebody
    /// else asked for: then its packets that are too large are answered, and the device stays.
    pub limits_device: bool,
    /// Whether the GRE protocol type may be that of the other IP version, and whatever is no IP
    /// packet at all is left to the caller ([`crate::DatagramDrop::NotIp`]); and the peer may number from
    /// 0 again without saying so ([`reorder::ReorderBuffer::expect_restarts`]).
    pub loose: bool,
    /// At least one, at most [`ConnectionConfig::MAX_PATHS`].
    pub paths: Vec<PathConfig>,
}

/// A pair of addresses over which a connection runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathConfig {
    /// Unique within the connection.
    pub name: String,
    /// Where its packets may arrive; several with entropy source ports. Empty while there is no
    /// socket.
    pub sockets: Vec<SocketId>,
    /// Source address of its outer packets, where known.
    pub local: Option<IpAddr>,
    /// Destination address of its outer packets, and source of those received. Unspecified
    /// (0.0.0.0 or ::, the version it is expected to have) where `learn` and not known yet.
    pub remote: IpAddr,
    /// UDP destination port of its outer packets.
    pub remote_port: u16,
    /// UDP source port of those received; `None` accepts any (a peer with entropy source ports, or
    /// behind a NAT).
    pub remote_source_port: Option<u16>,
    /// Whether its remote address is learnt, and followed when it changes, by a control session
    /// ([`crate::Tunnels::set_path_remote`]). While it is not known, nothing is received on it.
    pub learn: bool,
    /// Share of what we send, 1..=65,535.
    pub weight_out: u16,
    /// Share of what the peer sends, 1..=65,535: until enough has arrived to see it.
    pub weight_in: u16,
    /// Carries data only while every path with a smaller number is down.
    pub tier: u8,
    /// Whether it is to be used ([`crate::DownReason::Administrative`] else).
    pub up: bool,
    /// MTU of the link in bytes of the outer IP packet.
    pub mtu: u16,
    /// Source ports follow the flow (RFC 8086, section 3.2.1): the packets of one path arrive in
    /// any order.
    pub entropy: bool,
}

/// Which way a connection carries data.
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

/// What becomes of packets that are lost, of a connection with [`Mapping::Adaptive`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Repair {
    /// They are sent again as soon as they are known to be lost, where the peer asks for them.
    #[default]
    Auto,
    /// Nothing: they are lost.
    Off,
}

impl Direction {
    /// Whether it carries packets from the device.
    pub fn sends(self) -> bool {
        self != Self::Receive
    }

    /// Whether it carries packets to the device.
    pub fn receives(self) -> bool {
        self != Self::Send
    }
}

/// Why a configuration cannot work. Names are those of connections and paths.
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
}

impl ConnectionConfig {
    /// Most paths of a connection.
    pub const MAX_PATHS: usize = 256;

    /// Checks what can be wrong with a connection by itself.
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

    /// Whether what it sends carries sequence numbers.
    pub fn numbers(&self) -> bool {
        self.sequence && self.mapping != Mapping::Flow
    }

    /// The GRE header of what it sends; a sequence number of 0 stands for any.
    pub fn gre(&self, protocol: gre::Protocol) -> gre::Repr {
        let sequence = self.numbers().then_some(0);
        gre::Repr { protocol, checksum: self.checksum, key: self.key, sequence }
    }

    /// Bytes between the UDP header and the inner packet, and behind that: the GRE header, or what
    /// sealing takes. Where sealing is wanted it is always counted, so that sizes stay the same
    /// whatever the peer can do.
    pub fn encapsulation(&self) -> u16 {
        match self.seal.is_wanted() {
            true => mtu::SEALED,
            false => self.gre(gre::Protocol::IPV4).header_len() as u16,
        }
    }

    /// Whether what it receives is put in order.
    pub(crate) fn reorders(&self) -> bool {
        self.sequence && self.direction.receives()
    }

    /// Largest inner packet in bytes over all of these paths.
    fn inner_mtu<'a>(&self, paths: impl Iterator<Item = &'a PathConfig>) -> u16 {
        paths.map(|path| self.inner_mtu_of(path, path.mtu)).min().unwrap_or(u16::MAX)
    }

    /// Whether any IPv6 packet is meant to be carried.
    pub(crate) fn carries_ipv6(&self) -> bool {
        let mut networks =
            self.selectors.iter().map(|selector| &selector.destination).chain(&self.sources);
        networks.any(|network| matches!(network, IpNet::V6(_)))
    }
}

impl PathConfig {
    /// IP version of its outer packets.
    pub fn outer(&self) -> ip::Version {
        match self.remote {
            IpAddr::V4(_) => ip::Version::V4,
            IpAddr::V6(_) => ip::Version::V6,
        }
    }

    /// Whether its remote address is known.
    pub fn has_remote(&self) -> bool {
        !(self.learn && self.remote.is_unspecified())
    }

    /// Becomes `new`, which keeps a remote address that was learnt.
    pub(crate) fn replace(&mut self, new: &Self) {
        let learnt = !new.has_remote() && self.has_remote();
        let (remote, port, source_port) = (self.remote, self.remote_port, self.remote_source_port);
        *self = new.clone();
        if learnt {
            (self.remote, self.remote_port, self.remote_source_port) = (remote, port, source_port);
            // The peer was found in the other IP version.
            self.local = self.local.filter(|local| local.is_ipv4() == remote.is_ipv4());
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
        if self.local.is_some_and(|local| local.is_ipv4() != self.remote.is_ipv4()) {
            return Err(ConfigError::MixedPath { connection, path });
        }
        Ok(())
    }
}
