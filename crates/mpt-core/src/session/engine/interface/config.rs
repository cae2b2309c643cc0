//! The configuration of a [`Sessions`](crate::session::engine::Sessions): sessions, peers and
//! limits.

use std::net::SocketAddr;
use std::time::Duration;

use mpt_wire::control::hello::Kind;

use crate::liveness::Timing;
use crate::session::{AdmissionLimits, PresharedKey, PublicKey};
use crate::{Seal, Shard, SocketId};

/// The most sessions that one token may have at a time: that of the host that it is for, and some
/// of other hosts, which are informed that it was used.
pub const MAX_JOINING: usize = 4;

/// Identifies a session of a daemon. Never another one while anybody may remember it: the number is
/// taken again after 4096 others in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId {
    /// The shard that has the session.
    pub shard: Shard,
    /// The number of the session in its shard.
    pub number: u32,
}

/// The name of a path between the two ends of a session, 1 or more. The end that began the handshake
/// gives them.
pub type SessionPathId = u16;

/// The configuration of a session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Tells the sessions with one peer apart, and is told to the peer: at most 32 bytes go there.
    pub name: String,
    /// The purpose of the session.
    pub kind: Kind,
    /// The public key of the other end.
    pub peer: PublicKey,
    /// The preshared key, if both ends have one.
    pub psk: Option<PresharedKey>,
    /// Sets whether the data of the connection is sealed, see [`ConnectionConfig::seal`].
    ///
    /// [`ConnectionConfig::seal`]: crate::ConnectionConfig::seal
    pub seal: Seal,
    /// True if this end begins handshakes. Otherwise it waits for the other end to do so.
    pub initiate: bool,
    /// True if the connection is not to be used before [`Node::open`](crate::Node::open): the other
    /// end has to create its own first.
    pub create: bool,
    /// GRE key of the connection. While a connection is attached, that of the connection counts.
    pub key: Option<u32>,
    /// Timers of the paths.
    pub timing: Timing,
    /// The largest weight that is used for what we send because the peer wishes it; larger wishes
    /// count as this. 0: its wishes are not followed.
    pub largest_wish: u16,
    /// The address of the peer of a session without connection (a steering one).
    pub remote: Option<(SocketId, SocketAddr)>,
}

/// A peer that may open sessions that are not configured.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its public key.
    pub public_key: PublicKey,
    /// The preshared key, if both ends have one.
    pub psk: Option<PresharedKey>,
    /// True if it may ask for connections.
    pub may_connect: bool,
    /// Sets whether the data of its connections is sealed.
    pub seal: Seal,
    /// True if it may steer this daemon.
    pub may_steer: bool,
    /// Timers of the paths of its connections.
    pub timing: Timing,
    /// The largest weight that is used for what we send because it wishes so; larger wishes count as
    /// this. 0: its wishes are not followed.
    pub largest_wish: u16,
    /// A session of it that has a connection and no usable path for so long has expired.
    pub expire_after: Duration,
    /// Sessions of either kind that it may open.
    pub max_sessions: usize,
}

impl Peer {
    /// Returns true if it may open sessions of this kind. Those of kind joining take a
    /// [`JoinToken`](crate::session::JoinToken) instead.
    pub(crate) fn may_have(&self, kind: Kind) -> bool {
        match kind {
            Kind::Connection => self.may_connect,
            Kind::Steering => self.may_steer,
            Kind::Joining => false,
        }
    }
}

/// Bounds of what others can make a [`Sessions`](crate::session::engine::Sessions) do and keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions in all, at most about a million. Those of the configuration are always taken; others
    /// only below it.
    pub sessions: usize,
    /// Handshakes that are worked on.
    pub admission: AdmissionLimits,
    /// A session of a peer for which no connection was attached by then is dropped. So is every
    /// session of kind joining.
    pub attach_within: Duration,
    /// Frames between probes that all sessions send in a second: those by which senders learn what
    /// their paths carry. If the senders want more, they send them less often. Probes, echoes and
    /// everything else do not count.
    pub frames_between_probes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 16_384,
            admission: AdmissionLimits::default(),
            attach_within: Duration::from_secs(10),
            frames_between_probes: 20_000,
        }
    }
}
