//! The daemon as it stands at one moment.
//!
//! Counters start at 0 when the thing they belong to is created, never go back and are 64 bit. Rates are taken over the last
//! whole second. Bytes are those of inner IP packets, without tunnel headers, so that a connection's figures and the sum
//! of its paths' can be compared.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantNames};

use crate::{
    AtCap, CapCounts, CapPeriod, Direction, Ecn, Equalize, Estimate, Late, Mapping, Offload, Queue,
    Repairs, Seal, ShortFlows,
};

/// Named counters, each the packets that met one fate ("no_connection", "wrong_key", ...). Every name that the daemon has is
/// present, also with the value 0; later daemons may have more names.
pub type Counters = BTreeMap<String, u64>;

/// Everything at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The process.
    pub daemon: Daemon,
    /// The TUN devices, in the order of the configuration.
    pub devices: Vec<Device>,
    /// The connections, in the order of the configuration.
    pub connections: Vec<Connection>,
}

/// The process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    /// Version of the program.
    pub program: String,
    /// Process id.
    pub pid: u32,
    /// Whole seconds since it started.
    pub uptime_s: u64,
    /// Time of this answer, in milliseconds since 1970-01-01 UTC by the clock of its system.
    pub time_ms: u64,
    /// Bytes of packet buffers in use now (packets waiting in reorder windows and for sockets).
    pub buffer_bytes: u64,
    /// The most that may be in use (`daemon.buffer_limit`).
    pub buffer_limit: u64,
    /// Packets dropped before they could be assigned to a device or connection.
    pub drops: Counters,
    /// Public key of this host in base64; `None` without `daemon.private_key_file`.
    pub public_key: Option<String>,
    /// Actions ("handshakes", "probes_sent", ...) and refusals ("bad_mac", "replayed", ...) of the control protocol.
    pub control: Counters,
}

/// A TUN device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name in the system.
    pub name: String,
    /// The addresses mpt gave it.
    pub addresses: Vec<IpNet>,
    /// Its MTU in bytes: the largest inner packet.
    pub mtu: u16,
    /// Offloads that the kernel grants.
    pub offloads: Vec<Offload>,
    /// Packets from the device that were not sent, and packets that could not be written to it.
    pub drops: Counters,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Its name in the configuration.
    pub name: String,
    /// Name of its TUN device.
    pub device: String,
    /// Its state with regard to sending.
    pub state: ConnectionState,
    /// Networks behind the peer.
    pub networks: Vec<IpNet>,
    /// GRE key (RFC 2890), when it uses one.
    pub key: Option<u32>,
    /// The direction in which it carries packets.
    pub direction: Direction,
    /// The way in which it spreads them over its paths.
    pub mapping: Mapping,
    /// True if it sends GRE sequence numbers (RFC 2890).
    pub sequence: bool,
    /// True if it sends GRE checksums (RFC 2784).
    pub checksum: bool,
    /// Treatment of the ECN field.
    pub ecn: Ecn,
    /// The largest inner packet that fits every path, in bytes.
    pub mtu: u16,
    /// Inner packets sent (a duplicated packet counts once).
    pub sent: Traffic,
    /// Inner packets received and delivered.
    pub received: Traffic,
    /// Packets that wait for room on the paths; `None` without adaptive mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// The path that flows keep to which are expected to be short; `None` where they have all paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_flows: Option<ShortFlows>,
    /// The receive window.
    pub reorder: Reorder,
    /// Packets dropped, by cause.
    pub drops: Counters,
    /// Packets by what is remarkable about them ("mss_clamped", "path_down", ...); what became of them is counted elsewhere.
    pub remarks: Counters,
    /// The control session with the peer; `None` when the connection has none (no `[connection.peer]`).
    pub session: Option<Session>,
    /// Evidence that the peer is configured differently; `None` while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<Disagreement>,
    /// The state of a peer that is the papers' prototype; `None` when it is not (no `compat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
    /// Its paths, in the order of the configuration.
    pub paths: Vec<Path>,
}

/// The control session of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Public key of the peer, in base64.
    pub peer: String,
    /// Name of the `[[client]]` for which the connection was created; `None` for one of the configuration.
    pub client: Option<String>,
    /// Its state.
    pub state: SessionState,
    /// The end that initiates it.
    pub role: SessionRole,
    /// Whole seconds since it was set up; `None` while it is not.
    pub established_s: Option<u64>,
    /// Whole seconds since the keys in use were agreed; `None` while there are none.
    pub rekeyed_s: Option<u64>,
    /// The number of times keys were agreed since the session was set up.
    pub handshakes: u64,
    /// Setting for the sealing of data; `None` from a daemon that cannot seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
    /// Present protection of data; `None` from a daemon that cannot seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataState>,
    /// Probe interval of a path while packets flow, in microseconds; 0: no probes are sent.
    pub keepalive_us: u64,
    /// Probe interval of a path while no packets flow, in microseconds.
    pub idle_keepalive_us: u64,
}

/// Evidence that the two ends are configured differently. None of it is authentic.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Disagreement {
    /// The remote address of a path is one of this host, and the local one is not.
    AddressesExchanged,
    /// Control frames come, and the connection has no keys here.
    PeerHasKeys,
    /// Plain data comes, and no session.
    PeerHasNoKeys,
    /// Handshakes come that do not fit the keys here.
    OtherKeys,
    /// A disagreement of a later daemon.
    #[serde(other)]
    Unknown,
}

impl Disagreement {
    /// Says what it is and what to do about it, in a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Disagreement::AddressesExchanged => {
                "local and remote of a path are the wrong way round: remote is an address of this host; exchange the two"
            }
            Disagreement::PeerHasKeys => {
                "the peer seems to have keys, and this host has none: write [connection.peer] here with the public key of the peer, or remove it \
                 there"
            }
            Disagreement::PeerHasNoKeys => {
                "the peer sends data without a session, so it seems to have no keys: write [connection.peer] there with the public key of this \
                 host, or remove it here"
            }
            Disagreement::OtherKeys => {
                "handshakes fail, so the keys of both ends seem not to fit: compare public_key at each end with what mpt pubkey prints at the \
                 other, and psk_file"
            }
            Disagreement::Unknown => {
                "the two ends disagree about something that this program does not know"
            }
        }
    }
}

/// The present protection of the data of a connection with a session.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DataState {
    /// Neither encrypted nor authenticated, as it is configured here.
    Plain,
    /// There is none before there are keys.
    Waiting,
    /// Sealed with AES-256-GCM.
    Aes256Gcm,
    /// Sealed with ChaCha20-Poly1305.
    Chacha20Poly1305,
    /// Neither encrypted nor authenticated, since the peer does not seal.
    PlainPeer,
    /// There is none, since the peer does not seal.
    Refused,
    /// A state of a later daemon.
    #[serde(other)]
    Unknown,
}

/// The state of a peer that is the papers' prototype.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compat {
    /// The protocol that is spoken: "mptsrv".
    pub protocol: String,
    /// Authentication of commands: "none", "nonce" or "sha256".
    pub authentication: String,
    /// True while the peer is being notified of a path's state.
    pub telling: bool,
    /// Milliseconds since each path was heard, or taken into use.
    pub heard_ms: BTreeMap<String, u64>,
    /// Keepalives and commands, sent, carried out and dropped, by what they were.
    pub counters: Counters,
}

/// The state of a session.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SessionState {
    /// No keys have been agreed yet, or the peer has not been heard for so long that they have expired.
    Connecting,
    /// There are keys, but the peer has not created the connection yet.
    Creating,
    /// Set up.
    Established,
    /// The peer refused to create the connection; the log says why. It is asked again later.
    Refused,
    /// A state of a later daemon.
    #[serde(other)]
    Unknown,
}

/// The end that initiates a session.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SessionRole {
    /// This host.
    Initiator,
    /// The peer.
    Responder,
    /// A role of a later daemon.
    #[serde(other)]
    Unknown,
}

/// The state of a connection with regard to sending.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ConnectionState {
    /// Every path is up.
    Up,
    /// Some paths are up.
    Degraded,
    /// No path is up.
    Down,
    /// A state of a later daemon.
    #[serde(other)]
    Unknown,
}

/// A counter of packets and bytes with its rates over the last second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Inner packets, in all.
    pub packets: u64,
    /// Bytes of inner packets, in all.
    pub bytes: u64,
    /// Inner packets in the last whole second.
    pub packets_per_second: u64,
    /// Bits of inner packets in the last whole second.
    pub bits_per_second: u64,
}

/// The receive window of a connection: its configuration, what became of every packet, and how long packets waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reorder {
    /// Size in packets; 0: off.
    pub window: u16,
    /// The longest a packet waits, in microseconds.
    pub max_delay_us: u64,
    /// True if a gap is given up as soon as no path can still fill it.
    pub early_release: bool,
    /// Treatment of late packets.
    pub late_policy: Late,
    /// The packets that are held on shorter paths.
    pub equalize: Equalize,
    /// Packets held or waiting now.
    pub waiting: u64,
    /// Packets delivered in sequence.
    pub in_order: u64,
    /// Packets delivered in sequence after numbers before them were given up.
    pub after_gap: u64,
    /// Packets that arrived after their number was given up.
    pub late: u64,
    /// Packets delivered before numbers that were still missing, since they are wanted at once.
    #[serde(default)]
    pub ahead: u64,
    /// Packets delivered in sequence, but before it was their time, since there was no room for more to wait. They are counted above as well.
    #[serde(default)]
    pub early: u64,
    /// Packets that arrived twice; the second copy is dropped.
    pub duplicate: u64,
    /// Packets too far ahead of the window, which moved it.
    pub overflow: u64,
    /// Packets whose number fits nowhere.
    pub stray: u64,
    /// Packets that were held since they came on a shorter path.
    pub equalized: u64,
    /// Time in the window, without that of being held.
    pub delays: Delays,
}

/// Quantiles of the time that packets waited in the window, in microseconds; 0 while nothing has been received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    /// Half of the packets waited no longer.
    pub p50_us: u64,
    /// 99 % of the packets waited no longer.
    pub p99_us: u64,
    /// The longest wait.
    pub max_us: u64,
}

/// A path of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Its name in the configuration.
    pub name: String,
    /// Its state.
    pub state: PathState,
    /// The reason why it is down; `None` while it is not.
    pub down: Option<DownReason>,
    /// Address and port it listens on; `None` while the address is not known (no address on the interface).
    pub local: Option<SocketAddr>,
    /// The interface it is bound to, if any.
    pub interface: Option<String>,
    /// Address and port it sends to; `None` while not known: a name that was not resolved, or an end behind a NAT that
    /// has not been heard.
    pub remote: Option<SocketAddr>,
    /// The name of which `remote` is an address, if the configuration gives one.
    pub remote_name: Option<String>,
    /// True if `remote` is where the session found the peer, and follows it.
    pub remote_learned: bool,
    /// UDP ports it sends from: one, or the pool of an entropy path.
    pub source_ports: Vec<u16>,
    /// Source address and port of the last packet received.
    pub heard_from: Option<SocketAddr>,
    /// Share of the packets sent.
    pub weight: u16,
    /// Share of the packets that the peer sends.
    pub weight_in: u16,
    /// Time for which packets from it are held, in microseconds: its delay is shorter than that of the longest path by this.
    pub lead_us: u64,
    /// 0 carries data first.
    pub tier: u8,
    /// The greatest rate that is learnt of it, in bit/s of outer packets; `None` without a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<u64>,
    /// The least rate at which it is given packets, in bit/s of outer packets; `None` without a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<u64>,
    /// True if traffic on it is paid for, so that it is probed less often.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub metered: bool,
    /// True if it carries data only while no other path works, whatever its tier: it has reached its cap, or the peer wants it so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last_resort: bool,
    /// Its cap and the bytes that it has carried; `None` without a cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Cap>,
    /// Path MTU in bytes: the largest outer IP packet.
    pub mtu: u16,
    /// The source of the MTU.
    pub mtu_source: MtuSource,
    /// Milliseconds until a reported MTU is forgotten; `None` where it is from elsewhere.
    pub mtu_expires_ms: Option<u64>,
    /// True if it is wide enough for IPv6 inside, which takes 1280 bytes. Otherwise it carries none.
    pub ipv6: bool,
    /// Inner packets sent (a copy of a duplicated packet counts).
    pub sent: Traffic,
    /// Inner packets received, before the window.
    pub received: Traffic,
    /// Packets dropped, by cause.
    pub drops: Counters,
    /// State of its probes; `None` when the connection has no session.
    pub liveness: Option<Liveness>,
    /// Measurements of the sender; `None` without adaptive mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// Packets lost on it and repairs sent over it; `None` where nothing is repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repairs: Option<Repairs>,
}

/// The cap of a path for a period, and the bytes that it has carried. Bytes are those of outer IP packets, as a provider counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// Bytes that it may carry.
    pub limit: u64,
    /// Bytes that count towards it so far.
    pub used: u64,
    /// Bytes sent in this period.
    pub sent: u64,
    /// Bytes received in this period.
    pub received: u64,
    /// The period.
    pub period: CapPeriod,
    /// The bytes that count.
    pub counts: CapCounts,
    /// Treatment of the path at its cap.
    pub at_cap: AtCap,
    /// Beginning of the next period, in milliseconds since 1970-01-01 UTC.
    pub resets_ms: u64,
    /// True if more may have been carried than is counted, since the file of the counts was damaged or missing.
    pub uncertain: bool,
    /// True if the count is in its file: if not, it would be lost with the daemon.
    pub saved: bool,
}

/// The state of a path by the probes of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Liveness {
    /// Number of the path in the session, the same at both ends; `None` while it has none.
    pub id: Option<u16>,
    /// True if the peer has confirmed lately that it hears us on it.
    pub hears_us: bool,
    /// True if we have heard the peer on it lately.
    pub we_hear: bool,
    /// Smoothed round-trip time (RFC 6298) in microseconds; `None` before the first echo.
    pub rtt_us: Option<u64>,
    /// Variation of the round-trip time (RFC 6298) in microseconds.
    pub rtt_variation_us: Option<u64>,
    /// The shortest round-trip time in microseconds.
    pub rtt_minimum_us: Option<u64>,
    /// The time without confirmation after which it is declared dead, in microseconds; 0: never (no keepalives).
    pub dead_after_us: u64,
    /// The number of times it died.
    pub flaps: u64,
    /// Milliseconds since it was last confirmed, or declared dead.
    pub since_ms: u64,
    /// The number of data packets that the peer says it has sent on it.
    pub peer_sent: Option<u64>,
    /// The number of data packets that the peer says it has received on it.
    pub peer_received: Option<u64>,
}

/// The source of a path MTU.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MtuSource {
    /// The configuration.
    Configured,
    /// The interface.
    Interface,
    /// Padded probes of the session: one of this size was echoed.
    Probed,
    /// An ICMP message of a router, which counts for ten minutes.
    Reported,
    /// A source of a later daemon.
    #[serde(other)]
    Unknown,
}

/// States of a path.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PathState {
    /// Carries packets, as far as its tier has its turn.
    Up,
    /// Waits until the peer confirms that it hears us on it.
    Probing,
    /// Carries nothing.
    Down,
    /// A state of a later daemon.
    #[serde(other)]
    Unknown,
}

/// Why a path is down.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DownReason {
    /// By the configuration or by `mpt path down`.
    Administrative,
    /// The name of the peer's address is not resolved.
    Unresolved,
    /// Its interface is missing, down, without carrier or without the address.
    Interface,
    /// The peer no longer confirms that it hears us on it.
    Dead,
    /// The peer has not confirmed yet that it hears us on it.
    Unproven,
    /// The peer took it out of service.
    Peer,
    /// It has reached its cap.
    Cap,
    /// A reason of a later daemon.
    #[serde(other)]
    Unknown,
}
