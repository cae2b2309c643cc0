//! Sessions and their paths as they are shown.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_wire::control::PathState;
use mpt_wire::control::hello::Kind;

use crate::liveness::State;
use crate::path::discovery::Phase;
use crate::session::PublicKey;
use crate::session::engine::keys::data_keys::SealState;
use crate::session::engine::{SessionId, SessionPathId};
use crate::{ConnectionId, PathId};

/// A session at one moment.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// The session.
    pub id: SessionId,
    /// Its name: that of the configuration, or the one the peer gave.
    pub name: String,
    /// The purpose of the session.
    pub kind: Kind,
    /// The other end.
    pub peer: PublicKey,
    /// True if the peer opened it, without its being configured.
    pub dynamic: bool,
    /// The time since which it has had keys without interruption; `None` while it has none.
    pub established: Option<Instant>,
    /// The time at which the keys in use were agreed.
    pub keys_since: Option<Instant>,
    /// True if this end began the handshake that made them.
    pub initiator: bool,
    /// The state of sealing of its connection's data.
    pub seal: SealState,
    /// The number of completed handshakes.
    pub handshakes: u64,
    /// Its connection.
    pub connection: Option<ConnectionId>,
    /// True if the connection may be used, see [`Node::open`](crate::Node::open).
    pub open: bool,
    /// True if the peer knows which paths we use: before, none carries data.
    pub announced: bool,
    /// True if traffic flows, so that paths are probed often.
    pub active: bool,
    /// The address from which a session without connection was last heard.
    pub remote: Option<SocketAddr>,
    /// Its paths.
    pub paths: Vec<PathView>,
}

/// A path of a session at one moment.
#[derive(Clone, Copy, Debug)]
pub struct PathView {
    /// The path.
    pub path: PathId,
    /// Its name in frames under the present keys; `None` while the peer has not told it.
    pub id: Option<SessionPathId>,
    /// The state of the sending direction.
    pub state: State,
    /// The time at which that became so.
    pub since: Instant,
    /// True if nothing arrives on it.
    pub silent: bool,
    /// True if it is not probed, being down by the administrator, its interface or the peer.
    pub suspended: bool,
    /// True if the peer hears us on it (the sending direction works).
    pub hears_us: bool,
    /// True if we hear the peer on it.
    pub we_hear: bool,
    /// Smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// Its variation.
    pub rtt_variation: Option<Duration>,
    /// The shortest one.
    pub rtt_minimum: Option<Duration>,
    /// The time without confirmation after which the path is dead.
    pub dead_after: Duration,
    /// The number of times that the path died.
    pub flaps: u32,
    /// The phase of the search for its MTU.
    pub mtu_phase: Phase,
    /// True if a probe as large as the path MTU in use was echoed.
    pub mtu_confirmed: bool,
    /// The address to which its packets are sent; `None` while that is not known.
    pub remote: Option<SocketAddr>,
    /// The state that the peer has announced; `None` before that.
    pub peer_state: Option<PathState>,
    /// The weight that the peer says to send with on it, 0 for nothing.
    pub peer_weight: Option<u16>,
    /// Data packets that the peer says to have sent on it.
    pub peer_sent: u64,
    /// Data packets that the peer says to have received on it.
    pub peer_received: u64,
    /// Authenticated frames received on it.
    pub frames: u32,
    /// Bytes of these frames, without the headers around them.
    pub frame_bytes: u64,
}
