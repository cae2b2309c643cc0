//! Events, in the order in which they happen.

use std::net::SocketAddr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantNames};

use crate::AtCap;
use crate::snapshot::{DownReason, PathState, SessionRole};

/// Something that happened in the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Time of the event, in milliseconds since 1970-01-01 UTC by the clock of the system.
    pub time_ms: u64,
    /// The kind of the event with its data.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// An event that happens now.
    pub fn now(kind: EventKind) -> Self {
        Event { time_ms: now_ms(), kind }
    }
}

/// Events of which some program asks again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// Cursor for the next request.
    pub cursor: u64,
    /// The number of events before the first of these that were dropped because they were asked for too late.
    pub missed: u64,
    /// The events, the oldest first.
    pub events: Vec<Event>,
}

/// Milliseconds since 1970-01-01 UTC by the clock of the system.
#[must_use]
pub fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

/// Kinds of events, told apart by the key `event`.
#[derive(Clone, Debug, PartialEq, Eq, VariantNames, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EventKind {
    /// A path went up or down, or got another weight, tier, MTU or bound of its rate. Carries all of it, as it is now.
    PathChanged {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
        /// State now.
        state: PathState,
        /// The reason why it is down; `None` while it is not.
        down: Option<DownReason>,
        /// Share of the packets sent.
        weight: u16,
        /// Share of the packets that the peer sends.
        weight_in: u16,
        /// Tier.
        tier: u8,
        /// The greatest rate that is learnt of it, in bit/s; `None` without a bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_rate: Option<u64>,
        /// The least rate at which it is given packets, in bit/s; `None` without a bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_rate: Option<u64>,
        /// Path MTU in bytes.
        mtu: u16,
    },
    /// A path came into being.
    PathAdded {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
    },
    /// A path is gone.
    PathRemoved {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
    },
    /// The peer was found at another address on a path, and confirmed that it has it: a NAT gave it another port, or it
    /// moved.
    PathMoved {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
        /// The new address.
        remote: SocketAddr,
    },
    /// A path has carried most of what it may.
    CapNear {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
        /// Share of its cap that is used, in percent: 80 or 95.
        percent: u8,
        /// Bytes that count towards the cap.
        used: u64,
        /// Bytes that it may carry.
        limit: u64,
    },
    /// A path has reached its cap.
    CapReached {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
        /// Bytes that count towards the cap.
        used: u64,
        /// Bytes that it may carry.
        limit: u64,
        /// Treatment of the path at its cap.
        at_cap: AtCap,
    },
    /// A new period of a path's cap has begun.
    CapReset {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
        /// Bytes that counted towards the cap in the period before.
        used: u64,
        /// Bytes that it may carry.
        limit: u64,
    },
    /// A session with the peer has been set up.
    SessionEstablished {
        /// Name of the connection; `None` for a session of a controller.
        connection: Option<String>,
        /// Public key of the peer, in base64.
        peer: String,
        /// Name of its `[[client]]` or `[[controller]]`, if it has one.
        peer_name: Option<String>,
        /// The end that initiated it.
        role: SessionRole,
    },
    /// A session is gone. One that initiates opens the next by itself.
    SessionLost {
        /// Name of the connection; `None` for a session of a controller.
        connection: Option<String>,
        /// Public key of the peer, in base64.
        peer: String,
        /// Name of its `[[client]]` or `[[controller]]`, if it has one.
        peer_name: Option<String>,
        /// The reason.
        reason: LossReason,
    },
    /// A client's connection was created as it asked.
    ClientAdded {
        /// Name of the `[[client]]`.
        client: String,
        /// Name of the connection.
        connection: String,
    },
    /// A client's connection was removed.
    ClientRemoved {
        /// Name of the `[[client]]`.
        client: String,
        /// Name of the connection.
        connection: String,
        /// The reason.
        reason: LossReason,
    },
    /// A connection came into being.
    ConnectionAdded {
        /// Its name.
        connection: String,
    },
    /// A connection is gone.
    ConnectionRemoved {
        /// Its name.
        connection: String,
    },
    /// The configuration was read again and the difference applied.
    Reloaded {
        /// Number of changes applied.
        changes: u32,
    },
    /// The client was too slow: so many events before this one were left out.
    Missed {
        /// The number of them.
        count: u64,
    },
    /// An event of a later daemon.
    #[serde(other)]
    Unknown,
}

/// Why a session or a client's connection ended.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LossReason {
    /// No packet of the peer has arrived on any path.
    Silent,
    /// The peer's daemon ended.
    PeerShutDown,
    /// The peer removed the connection.
    PeerRemoved,
    /// The peer does not want it.
    Refused,
    /// It was removed here: by the configuration, which no longer has the peer or its key, or by hand.
    Removed,
    /// The configuration no longer allows a client's connection as it was created. The client may ask for another one.
    Policy,
    /// A reason of a later daemon.
    #[serde(other)]
    Unknown,
}
