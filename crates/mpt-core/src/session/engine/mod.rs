//! All control sessions of one daemon.
//!
//! [`Sessions`] stands beside the [`Tunnels`] and has the same owner, which hands in frames and the
//! time and sends what comes out. It tells the tunnels which paths work, and the rest of the daemon,
//! by events, what is to be decided elsewhere.
//!
//! - The owner hands frames to [`Sessions::handle_frame`], calls [`Sessions::handle_timeout`] when
//!   [`Sessions::next_timeout`] has come, and [`Sessions::wake`] for connections that
//!   [`Tunnels::take_woken`] gives; after any call it sends all that [`Sessions::poll_transmit`]
//!   gives, and passes on all that [`Sessions::poll_event`] gives.
//! - Nothing here happens per data packet: whether there is traffic is read from the connection's
//!   counters whenever a timer has expired anyway.
//! - Every session has one timer, so a thousand of them cost no more than what they do.

mod feedback;
mod handshake;
mod interface;
mod keys;
mod lifecycle;
mod measurement;
mod paths;
mod receive;
mod requests;
mod send;
mod shared;
mod slots;

use std::time::Instant;

use mpt_wire::control::{Reason, Suites};
use rustc_hash::FxHashMap;

pub use self::interface::config::{
    Limits, MAX_JOINING, Peer, SessionConfig, SessionId, SessionPathId,
};
pub use self::interface::counters::SessionCounters;
pub use self::interface::event::{
    CloseReason, Destination, Event, PathEvent, RequestFailed, RequestRefused, Transmit,
};
pub use self::interface::view::{PathView, SessionView};
pub use self::keys::data_keys::SealState;
use self::lifecycle::session::Session;
pub use self::measurement::speed_tests::{TestConfig, TestRefused, TestView};
pub use self::requests::shares::{
    MAX_HANDED, MAX_HANDED_PER_PEER, PART_BURST, PARTS_PER_SECOND, REQUEST_BURST,
    REQUESTS_PER_SECOND,
};
use self::shared::Shared;
use super::{Admission, CookieSecret, JoinToken, PrivateKey, PublicKey, Random};
use crate::tunnel::timers::Timers;
use crate::{ConnectionId, Shard, Tunnels};

/// Bits of a session's number that say its place.
const SLOT_BITS: u32 = 20;
/// Sessions that peers may open at most, with room for those of the configuration.
const MAX_SESSIONS: usize = (1 << SLOT_BITS) - (1 << 12);

/// All control sessions of one daemon.
#[derive(Debug)]
pub struct Sessions {
    shared: Shared,
    sessions: Vec<Option<Box<Session>>>,
    /// The number of times that each place has been taken.
    generations: Vec<u16>,
    free: Vec<u32>,
    count: usize,
    by_connection: FxHashMap<ConnectionId, u32>,
    by_peer: FxHashMap<PublicKey, Vec<u32>>,
    timers: Timers,
    peers: FxHashMap<PublicKey, Peer>,
    tokens: Vec<JoinToken>,
    limits: Limits,
    admission: Admission,
    cookie_secret: CookieSecret,
}

impl Sessions {
    /// An engine of a shard, without identity, peers and sessions. All randomness comes from `seed`,
    /// which has to be unpredictable.
    #[must_use]
    pub(crate) fn new(shard: Shard, seed: [u8; 32]) -> Self {
        let mut shared = Shared::new(shard, seed);
        let limits = Limits::default();
        Self {
            admission: Admission::new(limits.admission, &mut shared.random),
            cookie_secret: CookieSecret::new(&mut shared.random),
            shared,
            sessions: Vec::new(),
            generations: Vec::new(),
            free: Vec::new(),
            count: 0,
            by_connection: FxHashMap::default(),
            by_peer: FxHashMap::default(),
            timers: Timers::default(),
            peers: FxHashMap::default(),
            tokens: Vec::new(),
            limits,
        }
    }

    /// Sets the key of this end. Without one there are no handshakes. Another one ends all keys made
    /// with the one before: the sessions begin anew.
    pub(crate) fn set_identity(&mut self, now: Instant, identity: Option<PrivateKey>) {
        let public = identity.as_ref().map(PrivateKey::public);
        if public == self.shared.public {
            return;
        }
        (self.shared.identity, self.shared.public) = (identity, public);
        for slot in self.slots() {
            if let Some(session) = self.at(slot) {
                session.handshake.pause(now);
                self.clear_keys(slot);
                self.timers.set_no_later(slot, now);
            }
        }
    }

    /// The public key of this end.
    #[must_use]
    pub fn public_key(&self) -> Option<PublicKey> {
        self.shared.public
    }

    /// Sets the suites that this end can seal data with, for handshakes to come.
    pub(crate) fn set_suites(&mut self, suites: Suites) {
        self.shared.suites = suites;
    }

    /// Takes the data indices, at this end and at the other one, of the keys that are to be erased.
    pub(crate) fn take_erased(&mut self) -> Option<(u32, u32)> {
        self.shared.take_erased()
    }

    /// Sets the bounds.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = Limits { sessions: limits.sessions.min(MAX_SESSIONS), ..limits };
        self.admission.set_limits(limits.admission);
        self.shared.frames.set(limits.frames_between_probes);
    }

    /// Returns when [`Self::handle_timeout`] is to be called at the latest. May be earlier than
    /// necessary.
    #[must_use]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.timers.earliest()
    }

    /// Paths of a connection were changed by others: taken up or down, given other weights, sockets
    /// or addresses, or removed; or its GRE key was. To be called after the tunnels were told.
    pub(crate) fn paths_changed<P: Copy>(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(&slot) = self.by_connection.get(&connection) else { return };
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        session.paths.retain_mut(|path| match tunnels.path(path.id) {
            Some(data) => {
                path.follow(now, data);
                true
            }
            None => false,
        });
        session.follow_connection(tunnels);
        session.settle(now, &mut self.shared, tunnels);
        self.arm(slot);
    }

    /// A packet is to be sent on a connection that was idle ([`Tunnels::take_woken`]).
    pub(crate) fn wake<P: Copy>(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(&slot) = self.by_connection.get(&connection) else { return };
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        session.set_active(now, true, tunnels);
        session.hurry_departed(now);
        self.handle_session_timeout(now, slot, tunnels);
    }

    /// Something is missing on a connection after nothing was ([`Tunnels::take_found`]).
    pub(crate) fn ask_soon(&mut self, now: Instant, connection: ConnectionId) {
        let Some(&slot) = self.by_connection.get(&connection) else { return };
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        session.ask_soon(now);
        self.arm(slot);
    }

    /// A path of a connection has fallen quiet ([`Tunnels::take_tail`]).
    pub(crate) fn tell_tail<P: Copy>(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(&slot) = self.by_connection.get(&connection) else { return };
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        if session.tell_tail(now, &mut self.shared, tunnels).is_err() {
            self.arm(slot);
        }
    }

    /// Says goodbye to everybody: the daemon ends. The frames that come out then have to be sent before the end.
    pub(crate) fn close_all(&mut self, now: Instant) {
        for session in self.sessions.iter_mut().flatten() {
            session.send_goodbye(now, &mut self.shared, Reason::SHUTTING_DOWN);
        }
        for slot in self.slots() {
            self.remove(slot);
        }
    }
}
