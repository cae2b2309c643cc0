//! A checked configuration: every default filled in, every cross-reference valid. Comparable, so that a reload can tell
//! what changed ([`super::diff`]); it holds no positions in the file.

pub(super) mod networks;
pub(super) mod remote;
pub(super) mod reorder;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use ipnet::IpNet;
use mpt_api::{AtCap, CapCounts, CapPeriod, Direction, Ecn, Mapping, Repair, Seal};
use mpt_core::path::mtu::{self, IPV6_MINIMUM};
use mpt_core::session::PrivateKey;
use mpt_wire::gre;
use mpt_wire::ip::Version;
use tracing::level_filters::LevelFilter;

use super::compat::Compat;
use super::peers::{Client, Controller, Peer, Pool};
use remote::Remote;
use reorder::Reorder;

/// MTU in bytes taken for a link that is not known.
pub const USUAL_MTU: u16 = mtu::ETHERNET;
/// MTU in bytes of a device that only clients use: what fits an Ethernet path over IPv4, with a GRE header with key and sequence number
/// (12 bytes). No client changes it; what is too large for one is answered.
const CLIENTS_MTU: u16 = mtu::inner(USUAL_MTU, Version::V4, 12);
/// The inner MTU where the data of some clients is sealed.
const SEALED_CLIENTS_MTU: u16 = mtu::inner(USUAL_MTU, Version::V4, mtu::SEALED);
/// The user of the daemon where the configuration names none.
pub const USUAL_USER: &str = "mpt";
/// Default of `daemon.state_directory`.
pub const DEFAULT_STATE_DIRECTORY: &str = "/var/lib/mpt";
/// Default of `connection.path.remote_port`.
pub const DEFAULT_PORT: u16 = gre::PORT;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `[daemon]`
    pub daemon: Daemon,
    /// `[[device]]`, in the order of the file. Names differ.
    pub devices: Vec<Device>,
    /// `[[connection]]`, in the order of the file. Names differ, `device` names one of `devices`.
    pub connections: Vec<Connection>,
    /// `[[client]]`, in the order of the file. `device` names one of `devices`.
    pub clients: Vec<Client>,
    /// `[[pool]]`, in the order of the file.
    pub pools: Vec<Pool>,
    /// `[[controller]]`, in the order of the file.
    pub controllers: Vec<Controller>,
}

/// `[daemon]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Daemon {
    /// The user that the daemon becomes when root starts it; `None`: [`USUAL_USER`], if the directory of the file belongs to it, else root.
    pub user: Option<String>,
    /// UNIX socket of the control API.
    pub control_socket: PathBuf,
    /// The least severe messages that are logged, unless the environment says otherwise.
    pub log: LevelFilter,
    /// Format of the lines of the log.
    pub log_format: LogFormat,
    /// The most bytes of packet buffers in use at one time.
    pub buffer_limit: u64,
    /// Port on which paths listen that do not say otherwise; already put into them.
    pub port: u16,
    /// Addresses of this host to which clients and controllers send, on `port`. Not empty when there are clients.
    pub listen: Vec<IpAddr>,
    /// File of the private key.
    pub private_key_file: PathBuf,
    /// The key in it; `None` when nobody in the file has a key: then it is not read.
    pub private_key: Option<PrivateKey>,
    /// True if AES-256-GCM is offered for sealed data where the processor has instructions for it.
    pub aes: bool,
    /// The most connections created on demand at one time.
    pub max_clients: u32,
    /// The most connections created on demand in one second.
    pub creations_per_second: u32,
    /// Frames between probes that all connections send in a second, to learn what their paths carry.
    pub reports_per_second: u32,
    /// Directory of what is to outlast the daemon: how much paths with a cap have carried.
    pub state_directory: PathBuf,
    /// Mark of the sockets of outer packets, by which policy rules keep them out of the tunnel.
    pub mark: u32,
}

/// The format of the lines of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// A sentence and fields as `name=value`; entries with fields where standard error is the journal.
    #[default]
    Text,
    /// One JSON object on each line of standard error.
    Json,
}

/// `[[device]]`: a TUN device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Name in the system, at most 15 bytes.
    pub name: String,
    /// Its own addresses with the prefix length of their network. Empty exactly when they are assigned.
    pub addresses: Vec<IpNet>,
    /// True if the server of its only connection assigns its addresses.
    pub assigned: bool,
    /// MTU in bytes; `None`: the smallest inner MTU of its connections.
    pub mtu: Option<u16>,
}

/// `[[connection]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Unique name.
    pub name: String,
    /// Name of the TUN device.
    pub device: String,
    /// Networks behind the peer: routed to the device (with `routes`), allowed as inner source. Host bits are zero.
    pub networks: Vec<IpNet>,
    /// The packets it takes, expanded: one selector for each `[[connection.select]]` and destination, and when the file has none, one for each
    /// network. Empty when the connection only receives.
    pub selectors: Vec<Selector>,
    /// Selectors with `late = "deliver"`: an answer to what they match never waits for packets that are
    /// missing before it.
    pub prompt: Vec<Selector>,
    /// Selectors with `fec = "on"`: forward error correction protects what they match.
    pub protected: Vec<Selector>,
    /// Selectors with `fec = "off"`: forward error correction does not protect what they match.
    pub unprotected: Vec<Selector>,
    /// GRE key (RFC 2890) in use. With `peer.create` the server assigns it.
    pub key: Option<u32>,
    /// GRE key as the file or the request has it: another than `key` once a server has assigned one.
    pub requested_key: Option<u32>,
    /// GRE sequence numbers (RFC 2890) asked for; see [`Connection::sends_sequence`].
    pub sequence: bool,
    /// GRE checksum (RFC 2784).
    pub checksum: bool,
    /// Checksum of the outer UDP header. `false` only when every path runs over IPv4.
    pub udp_checksum: bool,
    /// Sealing of its data. `Off` without a peer.
    pub seal: Seal,
    /// The direction in which it carries packets.
    pub direction: Direction,
    /// The way in which it spreads the packets that it sends.
    pub mapping: Mapping,
    /// Treatment of lost packets, with adaptive mapping.
    pub repair: Repair,
    /// The receive window.
    pub reorder: Reorder,
    /// True if link-local and multicast packets of the device travel here. At most one connection of a device.
    pub multicast: bool,
    /// True if the outer header gets the DSCP of the inner one.
    pub copy_dscp: bool,
    /// Treatment of the ECN field (RFC 6040).
    pub ecn: Ecn,
    /// True if routes to `networks` are installed.
    pub routes: bool,
    /// Treatment of packets to `networks` while they cannot go through the tunnel.
    pub fallback: Fallback,
    /// The peer, when it is known by its key: with it there is a session.
    pub peer: Option<Peer>,
    /// The peer, when it is the papers' prototype. Never with `peer`.
    pub compat: Option<Compat>,
    /// Its paths, in the order of the file. Not empty; names differ.
    pub paths: Vec<Path>,
}

/// The treatment of packets that a default route leads into a tunnel while they cannot go through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fallback {
    /// The packets are blocked, also after the daemon was killed.
    #[default]
    Block,
    /// The packets go as if there were no tunnel.
    Direct,
}

/// Packets that a connection takes from its device: those that match every part. Among several connections that match, the one with the longest
/// destination wins, then the longest source, then the protocol, the ports, the DSCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Destination network.
    pub destination: IpNet,
    /// Source network, of the same family; `None`: any.
    pub source: Option<IpNet>,
    /// Upper-layer protocol; `None`: any.
    pub protocol: Option<u8>,
    /// Source port; `None`: any, or no ports.
    pub source_port: Option<PortRange>,
    /// Destination port; `None`: any, or no ports.
    pub destination_port: Option<PortRange>,
    /// DSCP, 0 to 63; `None`: any.
    pub dscp: Option<u8>,
}

/// The treatment of packets of a class while packets before them are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Late {
    /// The packets wait as `repair` says.
    #[default]
    Wait,
    /// The packets are delivered at once, and so are those that come late.
    Deliver,
}

/// The packets of a class that forward error correction protects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fec {
    /// Packets whose DSCP is EF.
    #[default]
    Auto,
    /// All of them.
    On,
    /// None.
    Off,
}

impl Selector {
    /// Everything to a network.
    #[must_use]
    pub fn to(destination: IpNet) -> Self {
        Self {
            destination,
            source: None,
            protocol: None,
            source_port: None,
            destination_port: None,
            dscp: None,
        }
    }
}

/// Ports from `first` to `last`, both included; `first <= last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortRange {
    /// Lowest port.
    pub first: u16,
    /// Highest port.
    pub last: u16,
}

/// `[[connection.path]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Unique name within the connection.
    pub name: String,
    /// Local address, of the family of `remote`; `None`: whatever the interface has. One of `local` and `interface` is
    /// set.
    pub local: Option<IpAddr>,
    /// Address of this host as the prototype knows it; `None`: `local`. Only with `compat`.
    pub public: Option<IpAddr>,
    /// Interface to which the sockets are bound.
    pub interface: Option<String>,
    /// The address of the peer, or the way in which it is found.
    pub remote: Remote,
    /// The port that is written in `remote`; already put into `remote_port`.
    pub port_of_remote: Option<u16>,
    /// Port on which it listens.
    pub local_port: u16,
    /// Ports from which it sends.
    pub source_port: SourcePort,
    /// Port to which it sends.
    pub remote_port: u16,
    /// Port from which the peer sends; `None`: any.
    pub remote_source_port: Option<u16>,
    /// Share of the packets sent, from 1.
    pub weight: u16,
    /// Share of the packets that the peer sends, from 1.
    pub weight_in: u16,
    /// The word for its tier and whether it is up, where the file has one; already put into both.
    pub priority: Option<Priority>,
    /// 0 carries data first; n only while every path of a smaller number is down.
    pub tier: u8,
    /// True if traffic on it is paid for, so that it is probed less often.
    pub metered: bool,
    /// Its cap; `None`: any amount.
    pub cap: Option<Cap>,
    /// Day of the month on which its cap starts anew.
    pub cap_day: u8,
    /// The traffic that counts towards its cap.
    pub cap_counts: CapCounts,
    /// Treatment of the path at its cap.
    pub at_cap: AtCap,
    /// Path MTU in bytes; `None`: the MTU of the interface.
    pub mtu: Option<u16>,
    /// Line rate in bit/s, for the advice of `--check` only.
    pub rate: Option<u64>,
    /// The greatest rate that is learnt of it, in bit/s; `None`: any. Only with adaptive mapping.
    pub max_rate: Option<u64>,
    /// The least rate at which it is given packets, in bit/s; `None`: any. Only with adaptive mapping.
    pub min_rate: Option<u64>,
    /// True if it starts administratively up.
    pub up: bool,
    /// True if a NAT lies between the ends: answers arrive at the port from which we send. Never with
    /// [`SourcePort::Entropy`].
    pub nat: bool,
}

/// The purpose of a path, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// It carries data.
    Primary,
    /// It carries data while no primary path works.
    Backup,
    /// It carries no data, unless it is taken up by hand.
    Never,
}

impl Priority {
    /// Returns the tier of such paths.
    #[must_use]
    pub const fn tier(self) -> u8 {
        match self {
            Priority::Primary | Priority::Never => 0,
            Priority::Backup => 1,
        }
    }
}

/// The cap of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// Bytes of outer IP packets.
    pub bytes: u64,
    /// The time for which it holds.
    pub period: CapPeriod,
}

impl std::fmt::Display for Cap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", mpt_text::quantity::exact_bytes(self.bytes), self.period)
    }
}

/// The kind of peer of a connection, as far as defaults of the connection or its paths depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerKind {
    /// Anything that speaks GRE in UDP.
    Plain,
    /// An mptd, in a session.
    Session,
    /// The papers' prototype.
    Prototype,
}

/// UDP source ports of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourcePort {
    /// One random port of the dynamic range, kept as long as the path's local side stays as it is.
    Random,
    /// A fixed port.
    Fixed(u16),
    /// A pool of ports, chosen by the flow (RFC 8086 section 3.1).
    Entropy,
}

impl Config {
    /// The connection of this name.
    pub fn connection(&self, name: &str) -> Option<&Connection> {
        self.connections.iter().find(|connection| connection.name == name)
    }

    /// The device of this name.
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// The MTU of a device in bytes: as configured, else `inner`, what fits the paths of its configured connections. Not below what IPv6 needs
    /// where the device carries it: the kernel would take its IPv6 addresses and routes away for good. Larger packets than `inner` are answered.
    /// A device that only clients have gets 1460, or 1444 if data of some of them may be sealed. `None` for a device without any connection.
    #[must_use]
    pub fn device_mtu(&self, device: &Device, inner: Option<u16>) -> Option<u16> {
        let is_v6 = |net: &IpNet| matches!(net, IpNet::V6(_));
        let mut connections = self.connections.iter().filter(|it| it.device == device.name);
        let v6 = device.addresses.iter().any(is_v6)
            || connections.any(|it| it.networks.iter().any(is_v6));
        let of_clients = || {
            let clients = self.clients.iter().filter(|client| client.device == device.name);
            let mtu = |client: &Client| match client.seal {
                Seal::Off => CLIENTS_MTU,
                Seal::On | Seal::Require => SEALED_CLIENTS_MTU,
            };
            clients.map(mtu).min()
        };
        let fits = inner.map(|inner| if v6 { inner.max(IPV6_MINIMUM) } else { inner });
        device.mtu.or(fits).or_else(of_clients)
    }
}

/// The mapping of a connection that names none. Only a session with numbered packets brings the reports that adaptive mapping learns from.
#[must_use]
pub(super) const fn usual_mapping(peer_kind: PeerKind, sequence: bool) -> Mapping {
    match (peer_kind, sequence) {
        (PeerKind::Session, true) => Mapping::Adaptive,
        _ => Mapping::Packet,
    }
}

/// The mode of ECN of a connection that names none: with adaptive mapping the peer is mpt, which complies with RFC 6040.
#[must_use]
pub const fn usual_ecn(mapping: Mapping) -> Ecn {
    match mapping {
        Mapping::Adaptive => Ecn::Normal,
        Mapping::Packet | Mapping::Flow | Mapping::Duplicate => Ecn::Compatibility,
    }
}

/// Returns the default sealing of a connection: with a session its data is sealed. `None` without a session: then there are no keys.
#[must_use]
pub(super) fn usual_seal(peer_kind: PeerKind) -> Option<Seal> {
    match peer_kind {
        PeerKind::Session => Some(Seal::On),
        PeerKind::Prototype | PeerKind::Plain => None,
    }
}

impl Connection {
    /// Returns true if no `[[connection.select]]` says how its packets are treated.
    pub(super) fn has_plain_classes(&self) -> bool {
        [&self.prompt, &self.protected, &self.unprotected].iter().all(|it| it.is_empty())
    }

    /// Returns the kind of its peer.
    pub(super) fn peer_kind(&self) -> PeerKind {
        match (&self.peer, &self.compat) {
            (Some(_), _) => PeerKind::Session,
            (None, Some(_)) => PeerKind::Prototype,
            (None, None) => PeerKind::Plain,
        }
    }

    /// The path of this name.
    pub fn path(&self, name: &str) -> Option<&Path> {
        self.paths.iter().find(|path| path.name == name)
    }

    /// True if its packets carry sequence numbers: flow-mapped ones never do, so that no flow waits for another.
    pub fn sends_sequence(&self) -> bool {
        self.sequence && self.mapping != Mapping::Flow
    }

    /// True if the peer, a server, is asked to create it.
    pub fn is_created_on_demand(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.create)
    }

    /// Returns the bytes that the tunnel adds to an inner packet on this path: outer IP, UDP, GRE (RFC 2784, RFC 2890) or what sealing takes.
    pub fn overhead(&self, path: &Path) -> u16 {
        match self.seal {
            Seal::Off => self.plain_overhead(path),
            Seal::On | Seal::Require => mtu::overhead(outer(path), mtu::SEALED),
        }
    }

    /// Returns the bytes that the tunnel adds to an inner packet on this path if nothing is sealed.
    pub(super) fn plain_overhead(&self, path: &Path) -> u16 {
        // The server assigns a key.
        let key = self.key.is_some() || self.is_created_on_demand();
        let header = gre::Repr {
            protocol: gre::Protocol::IPV4,
            checksum: self.checksum,
            key: key.then_some(0),
            sequence: self.sends_sequence().then_some(0),
        };
        mtu::overhead(outer(path), header.header_len() as u16)
    }
}

impl Path {
    /// Returns true if its outer packets are IPv6. While the remote address is unknown, the local one says it, and
    /// without that it is IPv4.
    #[must_use]
    pub fn is_ipv6(&self) -> bool {
        self.remote.address().or(self.local).is_some_and(|address| address.is_ipv6())
    }

    /// Returns the address to which its sockets are bound: `local`, or else any of its family.
    #[must_use]
    pub fn bound(&self) -> IpAddr {
        self.local.unwrap_or_else(|| self.any())
    }

    /// Returns the unspecified address of its family, which stands for any.
    #[must_use]
    pub fn any(&self) -> IpAddr {
        if self.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
    }
}

/// The version of the outer packets.
fn outer(path: &Path) -> Version {
    if path.is_ipv6() { Version::V6 } else { Version::V4 }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.destination)?;
        if let Some(source) = self.source {
            write!(f, " from {source}")?;
        }
        if let Some(protocol) = self.protocol {
            write!(f, " protocol {protocol}")?;
        }
        if let Some(ports) = self.source_port {
            write!(f, " source port {ports}")?;
        }
        if let Some(ports) = self.destination_port {
            write!(f, " destination port {ports}")?;
        }
        if let Some(dscp) = self.dscp {
            write!(f, " DSCP {dscp}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for PortRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}
