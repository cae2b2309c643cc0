//! Words that the configuration file and the API share, each defined once.

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantNames};

/// The direction in which a connection carries packets, seen from this host.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Display,
    IntoStaticStr,
    PartialEq,
    Eq,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Direction {
    /// Sends and receives.
    #[default]
    Both,
    /// Only sends: what arrives for it is dropped and counted.
    Send,
    /// Only receives: no packet selects it.
    Receive,
}

impl Direction {
    /// True if packets may leave through the connection.
    pub fn sends(self) -> bool {
        self != Direction::Receive
    }

    /// True if packets may arrive through the connection.
    pub fn receives(self) -> bool {
        self != Direction::Send
    }
}

/// The way in which a connection spreads the packets that it sends over its paths.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Display,
    IntoStaticStr,
    PartialEq,
    Eq,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Mapping {
    /// Each packet by itself, in proportion to the weights.
    #[default]
    Packet,
    /// Each packet by itself, over the paths that are measured to have room for it; what none has room for waits at the sender.
    Adaptive,
    /// Each flow (addresses, protocol, ports) on one path; flows in proportion to the weights; no sequence numbers.
    Flow,
    /// A copy of each packet on every path that is up.
    Duplicate,
}

/// The treatment of lost packets: those that this host sends with adaptive mapping, and those that a peer with adaptive
/// mapping sends.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Display,
    IntoStaticStr,
    PartialEq,
    Eq,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Repair {
    /// They are sent again as soon as they are known to be lost. Bulk flows wait for them, and nothing else does.
    #[default]
    Auto,
    /// They are sent again as with `auto`, and every packet waits for those before it.
    All,
    /// Lost packets are not sent again.
    Off,
}

/// The receiver's treatment of a packet whose place in the sequence was given up before.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Display,
    IntoStaticStr,
    PartialEq,
    Eq,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Late {
    /// Delivers it out of order: to TCP a dropped late packet is a loss.
    #[default]
    Deliver,
    /// Drops it: strict order.
    Drop,
}

/// The packets that the receiver holds on a shorter path, until they are as late as on the longest
/// one.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Display,
    IntoStaticStr,
    PartialEq,
    Eq,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Equalize {
    /// None.
    Off,
    /// Packets of TCP connections.
    #[default]
    Tcp,
    /// All.
    All,
}

/// The treatment of the ECN field in the tunnel (RFC 6040 section 4.1).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Display,
    IntoStaticStr,
    PartialEq,
    Eq,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Ecn {
    /// The outer header is not ECN-capable: right with any peer.
    #[default]
    Compatibility,
    /// The outer header copies the inner field: only where the peer is known to comply with RFC 6040.
    Normal,
}

/// The protection of the data of a connection by encryption and authentication.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Seal {
    /// Never.
    Off,
    /// Data is sealed where the peer seals as well. A peer that has sealed once has to go on.
    On,
    /// Always: without it there is no data.
    Require,
}

/// A kind of request that a controller may be allowed; see `[[controller]]` of the configuration.
#[derive(
    Clone,
    Copy,
    Debug,
    Display,
    IntoStaticStr,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Permission {
    /// To see the state: `status`, `show`.
    Show,
    /// To be told events: `monitor`.
    Monitor,
    /// To change, add and remove paths, interfaces and keepalives, and to measure.
    Path,
    /// To create, remove and save connections.
    Connection,
    /// To have the configuration file read again.
    Reload,
}

impl Permission {
    /// All there are.
    pub const ALL: [Permission; 5] = [
        Permission::Show,
        Permission::Monitor,
        Permission::Path,
        Permission::Connection,
        Permission::Reload,
    ];

    /// Returns its word in the configuration and in JSON.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Over which time a cap of a path holds.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CapPeriod {
    /// From midnight to midnight.
    Day,
    /// From one day of a month to the same day of the next one.
    Month,
    /// A period of a later daemon.
    #[serde(other)]
    Unknown,
}

/// The traffic that counts towards a cap.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Display,
    IntoStaticStr,
    PartialEq,
    Eq,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CapCounts {
    /// Sent and received bytes together.
    #[default]
    Both,
    /// Sent bytes.
    Sent,
    /// Received bytes.
    Received,
    /// Traffic that a later daemon tells apart.
    #[serde(other)]
    Unknown,
}

/// The treatment of a path that has reached its cap.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Display,
    IntoStaticStr,
    PartialEq,
    Eq,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AtCap {
    /// It carries data only while no other path of the connection works.
    #[default]
    Backup,
    /// It carries nothing.
    Stop,
    /// Nothing happens besides the warning.
    Warn,
    /// An action of a later daemon.
    #[serde(other)]
    Unknown,
}

/// A segmentation offload that the kernel grants to a TUN device, for IPv4 and IPv6 alike.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Offload {
    /// The kernel hands over TCP segments of up to 64 KiB and takes such.
    Tso,
    /// The kernel hands over several UDP datagrams of equal length as one packet and takes such (Linux 6.2).
    Uso,
    /// An offload of a later daemon.
    #[serde(other)]
    Unknown,
}
