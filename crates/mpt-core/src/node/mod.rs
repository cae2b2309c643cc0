//! The whole protocol of one daemon behind one door.
//!
//! A [`Node`] owns the tunnels, the sessions that steer them, and the dialect of the prototype. Its
//! owner has devices, sockets, memory and a clock, and hands in what happens:
//!
//! - datagrams from sockets ([`Node::handle_datagram`], [`Node::handle_command`]),
//! - packets from devices ([`Node::handle_inner`]),
//! - the time, when [`Node::next_timeout`] has come ([`Node::handle_timeout`]),
//! - changes of the configuration.
//!
//! After any of these, in any order, it takes what comes out: messages to send
//! ([`Node::poll_transmit`]), what has happened to paths ([`Node::poll_path_event`]), and what is for
//! others to decide ([`Node::poll_event`]). Packets for the devices go to the [`PacketMemory`] of the
//! call that made them deliverable.
//!
//! No call has to follow another one: the node lets the other parts follow a change of one part
//! before anything comes out or any timer runs.

mod event;
mod frame;
mod inward;
mod memory;
mod outward;
mod poll;
mod prototypes;
mod sessions;
mod timeout;
mod times;
mod transmit;
mod tunnels;

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

pub use self::event::{Event, PathEvent};
use self::frame::FrameBuffer;
pub use self::memory::{Lent, PacketMemory, Span};
pub use self::times::Times;
pub use self::transmit::{Destination, Transmit};
use crate::compat::Compat;
use crate::session::{Random, Sessions};
use crate::{ConnectionId, Shard, Tunnels};

/// The whole protocol of one daemon. `P` is the owner's handle of a received packet, a few bytes.
#[derive(Debug)]
pub struct Node<P> {
    tunnels: Tunnels<P>,
    sessions: Sessions,
    prototypes: Compat,
    /// The control frame that is being handled: packets that wait in the windows may be delivered
    /// meanwhile.
    frame: Box<FrameBuffer>,
    path_events: VecDeque<PathEvent>,
    /// The connections with a change that their sessions have still to follow.
    changed: BTreeSet<ConnectionId>,
    /// The time of the last such change.
    changed_at: Option<Instant>,
    timer_slack: Duration,
    /// The last time at which the timers of all sessions that were due were served.
    sessions_served: Option<Instant>,
    busy: bool,
}

impl<P: Copy> Node<P> {
    /// Creates the only node of a daemon, without connections, sessions and key. All randomness
    /// comes from `seed`, which has to be unpredictable where others can send to the node; the same
    /// seed and calls give the same results.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self::of_shard(Shard::FIRST, seed)
    }

    /// Creates the node of one shard of a daemon, as [`Self::new`] creates that of the whole. The
    /// indices that it gives out, and the ids of its sessions, carry the shard.
    #[must_use]
    pub fn of_shard(shard: Shard, seed: [u8; 32]) -> Self {
        let mut random = Random::new(seed);
        Self {
            tunnels: Tunnels::new(random.u64()),
            sessions: Sessions::new(shard, *random.key()),
            prototypes: Compat::new(*random.key()),
            frame: frame::frame_buffer(),
            path_events: VecDeque::new(),
            changed: BTreeSet::new(),
            changed_at: None,
            timer_slack: Duration::ZERO,
            sessions_served: None,
            busy: false,
        }
    }

    /// Returns the connections and their paths, for reading.
    #[inline]
    #[must_use]
    pub fn tunnels(&self) -> &Tunnels<P> {
        &self.tunnels
    }

    /// Returns the connections and their paths, for tests of what sessions do to them.
    #[cfg(test)]
    pub(crate) fn tunnels_mut(&mut self) -> &mut Tunnels<P> {
        &mut self.tunnels
    }

    /// Returns the sessions, for reading.
    #[inline]
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the connections to prototypes, for reading.
    #[inline]
    #[must_use]
    pub fn prototypes(&self) -> &Compat {
        &self.prototypes
    }
}
