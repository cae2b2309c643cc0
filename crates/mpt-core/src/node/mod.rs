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
//! No call has to follow another one: what a change of one part means for the others is followed
//! here, before anything comes out or any timer runs.

mod event;
mod frame;
mod inward;
mod memory;
mod outward;
mod prototypes;
mod sessions;
mod timeout;
mod transmit;
mod tunnels;

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

pub use self::event::{Event, PathEvent};
use self::frame::FrameBuffer;
pub use self::memory::{Lent, PacketMemory, Span};
pub use self::transmit::{Destination, Transmit};
use crate::compat::Compat;
use crate::session::{Random, Sessions};
use crate::{ConnectionId, Tunnels};

/// The whole protocol of one daemon. `P` is the owner's handle of a received packet, a few bytes.
#[derive(Debug)]
pub struct Node<P> {
    tunnels: Tunnels<P>,
    sessions: Sessions,
    prototypes: Compat,
    /// A control frame while it is worked on: what waits in the windows may be delivered meanwhile.
    frame: Box<FrameBuffer>,
    path_events: VecDeque<PathEvent>,
    /// Connections of which the sessions have still to follow a change.
    changed: BTreeSet<ConnectionId>,
    /// When the last of them changed.
    changed_at: Option<Instant>,
    timer_slack: Duration,
    /// When the timers of all sessions that were due were served last.
    sessions_served: Option<Instant>,
    busy: bool,
}

impl<P: Copy> Node<P> {
    /// A node without connections, sessions and key. All randomness comes from `seed`, which has to be
    /// unpredictable where others can send to it; the same seed and calls give the same results.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        let mut random = Random::new(seed);
        Self {
            tunnels: Tunnels::new(random.u64()),
            sessions: Sessions::new(*random.key()),
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

    /// The connections and their paths, to be looked at.
    #[inline]
    #[must_use]
    pub fn tunnels(&self) -> &Tunnels<P> {
        &self.tunnels
    }

    /// The sessions, to be looked at.
    #[inline]
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The connections to prototypes, to be looked at.
    #[inline]
    #[must_use]
    pub fn prototypes(&self) -> &Compat {
        &self.prototypes
    }
}
