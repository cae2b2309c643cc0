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

mod asking;
mod candidate;
mod clock;
mod config;
mod counters;
mod data_keys;
mod due;
mod event;
mod handshakes;
mod joining;
mod keys;
mod leads;
mod learning;
mod outbox;
mod outcome;
mod path;
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a loop counts through the session's paths; a GRE header has less than 2^16 bytes"
)]
mod path_mtu;
mod peer_table;
mod peers;
mod receive;
mod respond;
mod sealing;
mod send;
mod session;
mod shared;
mod shares;
mod show;
mod source;
mod speed_tests;
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a loop counts through the session's paths; a survey has less than 2^16 probes"
)]
mod survey;
mod tables;
mod test;
#[expect(clippy::indexing_slicing, reason = "a loop counts through the session's paths")]
mod timeout;
mod view;

use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use mpt_wire::control::frame::{self, Frame};
use mpt_wire::control::{Kind, Reason, Suites};
use rustc_hash::FxHashMap;

use self::candidate::Anchor;
pub use self::config::{Limits, MAX_JOINING, Peer, SessionConfig, SessionId, SessionPathId};
pub use self::counters::SessionCounters;
pub use self::data_keys::SealState;
pub use self::event::{
    CloseReason, Destination, Event, PathEvent, RequestFailed, RequestRefused, Transmit,
};
use self::path::SessionPath;
use self::receive::Outcome;
use self::session::{Identity, Session, WITHOUT_PATH};
use self::shared::Shared;
pub use self::shares::{
    MAX_HANDED, MAX_HANDED_PER_PEER, PART_BURST, PARTS_PER_SECOND, REQUEST_BURST,
    REQUESTS_PER_SECOND,
};
use self::source::Source;
pub use self::speed_tests::{TestConfig, TestRefused, TestView};
pub use self::view::{PathView, SessionView};
use super::announce::Announcer;
use super::{Admission, CookieSecret, JoinToken, PrivateKey, PublicKey, Random};
use crate::timers::Timers;
use crate::{ConnectionId, DeviceSink, PathId, Seal, SocketId, Tunnels};

/// The delay before reconnecting after the peer shut down.
const PAUSE_AFTER_SHUTDOWN: Duration = Duration::from_millis(200);
/// The delay before reconnecting after the peer refused the session, or removed the connection.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(5);
/// Bits of a session's number that say its place.
const SLOT_BITS: u32 = 20;
/// Sessions that peers may open at most, with room for those of the configuration.
const MAX_SESSIONS: usize = (1 << SLOT_BITS) - (1 << 12);

/// All control sessions of one daemon.
#[derive(Debug)]
pub struct Sessions {
    shared: Shared,
    sessions: Vec<Option<Box<Session>>>,
    /// How often each place has been taken.
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
    /// Without identity, peers and sessions. All randomness comes from `seed`, which has to be
    /// unpredictable.
    #[must_use]
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        let mut shared = Shared::new(seed);
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
                session.pause_until = now;
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
    }

    /// Adds a session. Where it has a connection, [`Self::attach`] has to follow.
    pub(crate) fn add_session(&mut self, now: Instant, config: SessionConfig) -> SessionId {
        let identity = Identity {
            name: String::new(),
            kind: config.kind,
            peer: config.peer,
            psk: None,
            timing: config.timing,
            largest_wish: 0,
            expire_after: Duration::MAX,
            seal: Seal::Off,
        };
        let slot = self.insert(now, identity);
        if let Some(session) = self.at(slot) {
            session.dynamic = false;
            session.open = !config.create;
            session.set_seal(config.seal);
            session.configure(now, config);
        }
        self.timers.set_no_later(slot, now);
        self.id(slot)
    }

    /// Changes a session of the configuration; where its connection or its paths have changed,
    /// [`Self::attach`] has to follow. Another peer or preshared key ends its keys, and it begins
    /// anew. False if there is no such session.
    pub(crate) fn update_session(
        &mut self,
        now: Instant,
        id: SessionId,
        config: SessionConfig,
    ) -> bool {
        let Some(slot) = self.slot(id) else { return false };
        let Some(session) = self.at(slot) else { return false };
        let before = session.peer;
        let same_psk = match (&session.psk, &config.psk) {
            (None, None) => true,
            (Some(before), Some(after)) => *before.to_base64() == *after.to_base64(),
            _ => false,
        };
        let (peer, resealed) = (config.peer, session.set_seal(config.seal));
        if session.create != config.create {
            session.open = !config.create;
        }
        session.configure(now, config);
        if before != peer || !same_psk || resealed {
            self.clear_keys(slot);
        }
        if before != peer {
            self.unlist(before, slot);
            self.by_peer.entry(peer).or_default().push(slot);
        }
        self.timers.set_no_later(slot, now);
        true
    }

    /// Gives a session its connection, and tells all the paths of that which take part, by the names
    /// as in [`SessionConfig::paths`]. To be called again with all paths whenever one was added or
    /// removed; what the session knows of the others stays. From the first call on
    /// a path is used only after the peer has proved that it hears us there.
    pub(crate) fn attach<P: Copy>(
        &mut self,
        now: Instant,
        id: SessionId,
        connection: ConnectionId,
        paths: &[(SessionPathId, PathId)],
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(slot) = self.slot(id) else { return };
        let Some(data) = tunnels.connection(connection) else { return };
        let from = data.next_sequence();
        let epoch = self.shared.random.u32();
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        if let Some(before) = session.connection.replace(connection)
            && before != connection
        {
            self.by_connection.remove(&before);
            session.announcer.restart(epoch, from);
            session.paths.clear();
        } else if session.announcer.epoch() == 0 {
            session.announcer = Announcer::new(epoch, from);
        }
        self.by_connection.insert(connection, slot);
        (session.anchor, session.anchor_candidate, session.last_usable) = (None, None, now);
        session.attach_paths(now, paths, tunnels);
        session.follow_connection(tunnels);
        session.settle(now, &mut self.shared, tunnels);
        self.timers.set_no_later(slot, now);
    }

    /// Takes the connection of a session away from it, because it is about to be removed. A session
    /// that the peer opened has [`Limits::attach_within`] for another one.
    pub(crate) fn detach(&mut self, now: Instant, id: SessionId) {
        let Some(slot) = self.slot(id) else { return };
        let Some(session) = self.at(slot) else { return };
        session.paths.clear();
        session.last_usable = now;
        session.announcer = Announcer::new(0, 0);
        session.policy.first = 0;
        if let Some(connection) = session.connection.take() {
            self.by_connection.remove(&connection);
        }
        self.timers.set_no_later(slot, now);
    }

    /// Lets a session with [`SessionConfig::create`] use its connection: the peer has created its
    /// own.
    pub(crate) fn open<P: Copy>(&mut self, now: Instant, id: SessionId, tunnels: &mut Tunnels<P>) {
        let Some(slot) = self.slot(id) else { return };
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        session.open = true;
        session.settle(now, &mut self.shared, tunnels);
        self.arm(slot);
    }

    /// A frame has arrived: what follows the GRE header of a datagram for which
    /// [`Tunnels::accept`] gave [`DatagramDrop::Control`](crate::DatagramDrop::Control).
    pub(crate) fn handle_frame<P: Copy, S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        socket: SocketId,
        remote: SocketAddr,
        frame: &[u8],
        tunnels: &mut Tunnels<P>,
        sink: &mut S,
    ) {
        let counters = &mut self.shared.counters;
        counters.frames_received += 1;
        match frame::parse(frame) {
            Ok(Frame::Initiation(frame)) => self.handle_initiation(now, socket, remote, frame),
            Ok(Frame::Response(frame)) => {
                self.with_index(frame.receiver_index(), |session, _, shared| {
                    session.handle_response(now, &frame, shared, tunnels);
                });
            }
            Ok(Frame::Cookie(frame)) => {
                self.with_index(frame.receiver_index(), |session, slot, shared| {
                    session.handle_cookie(now, slot, &frame, shared);
                });
            }
            Ok(Frame::Sealed(frame)) => {
                let source = Source { socket, remote };
                self.handle_sealed(now, source, &frame, tunnels, sink);
            }
            Err(frame::Error::Version) => counters.bad_version += 1,
            Err(_) => counters.malformed += 1,
        }
    }

    fn handle_sealed<P: Copy, S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        source: Source,
        frame: &frame::Sealed<'_>,
        tunnels: &mut Tunnels<P>,
        sink: &mut S,
    ) {
        let index = frame.header().receiver_index;
        let mut goodbye = None;
        self.with_index(index, |session, slot, shared| {
            let Some(place) = session.keys.find(index) else {
                shared.counters.unknown_index += 1;
                return;
            };
            match session.handle_sealed(now, place, source, frame, shared, tunnels, sink) {
                Outcome::Done => {}
                Outcome::Goodbye(reason) => goodbye = Some((slot, reason)),
            }
        });
        if let Some((slot, reason)) = goodbye {
            self.part(now, slot, reason, tunnels);
        }
    }

    /// The peer has said goodbye.
    fn part<P: Copy>(&mut self, now: Instant, slot: u32, reason: Reason, tunnels: &mut Tunnels<P>) {
        let id = self.id(slot);
        self.clear_keys(slot);
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        let connection = session.connection;
        for path in session.paths.iter_mut().filter(|path| !path.is_suspended()) {
            path.liveness.restart(now);
        }
        session.settle(now, &mut self.shared, tunnels);
        let pause = match reason {
            Reason::SHUTTING_DOWN => PAUSE_AFTER_SHUTDOWN,
            _ => PAUSE_AFTER_REFUSAL,
        };
        session.pause_until = now + pause;
        let dynamic = session.dynamic;
        self.shared.tell_closed(id, connection, CloseReason::Goodbye(reason), dynamic);
        if dynamic {
            self.remove(slot);
        } else {
            self.arm(slot);
        }
    }

    /// When [`Self::handle_timeout`] is to be called at the latest. May be earlier than necessary.
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
            Some(data) if path.is(path.id, data) => {
                path.follow(now, data);
                true
            }
            _ => false,
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
        session.tell_tail(now, &mut self.shared, tunnels);
    }

    /// Says goodbye to everybody: the daemon ends. What comes out then is to be sent before.
    pub(crate) fn close_all(&mut self, now: Instant) {
        for session in self.sessions.iter_mut().flatten() {
            session.send_goodbye(now, &mut self.shared, Reason::SHUTTING_DOWN);
        }
        for slot in self.slots() {
            self.remove(slot);
        }
    }

    /// Does something with the session that has an index, and sets its timer anew.
    fn with_index(&mut self, index: u32, act: impl FnOnce(&mut Session, u32, &mut Shared)) {
        let session =
            self.shared.indices.get(&index).copied().and_then(|slot| {
                Some((slot, self.sessions.get_mut(slot as usize)?.as_deref_mut()?))
            });
        let Some((slot, session)) = session else {
            self.shared.counters.unknown_index += 1;
            return;
        };
        act(session, slot, &mut self.shared);
        self.arm(slot);
    }

    /// The places of sessions, taken or free. There are never as many as 2^32.
    fn slots(&self) -> Range<u32> {
        0..u32::try_from(self.sessions.len()).unwrap_or(u32::MAX)
    }

    fn at(&mut self, slot: u32) -> Option<&mut Session> {
        self.sessions.get_mut(slot as usize)?.as_deref_mut()
    }

    fn id(&self, slot: u32) -> SessionId {
        let generation = self.generations.get(slot as usize).copied().unwrap_or_default();
        SessionId(u32::from(generation) << SLOT_BITS | slot)
    }

    /// The place of a session that exists.
    fn slot(&self, id: SessionId) -> Option<u32> {
        let slot = id.0 & ((1 << SLOT_BITS) - 1);
        let exists = self.sessions.get(slot as usize).is_some_and(Option::is_some);
        (exists && self.id(slot) == id).then_some(slot)
    }

    /// Puts a session in place.
    fn insert(&mut self, now: Instant, identity: Identity) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = self.slots().end;
            self.sessions.push(None);
            self.generations.push(0);
            slot
        });
        self.timers.reserve(slot);
        self.by_peer.entry(identity.peer).or_default().push(slot);
        self.count += 1;
        let (id, first_request) = (self.id(slot), self.shared.random.u32());
        let session = Session::new(now, id, identity, first_request);
        if let Some(place) = self.sessions.get_mut(slot as usize) {
            *place = Some(Box::new(session));
        }
        slot
    }

    /// Takes a session out of everything.
    fn remove(&mut self, slot: u32) {
        self.clear_keys(slot);
        let Some(mut session) = self.sessions.get_mut(slot as usize).and_then(Option::take) else {
            return;
        };
        session.fail_requests(&mut self.shared);
        self.shared.shares.forget(session.peer, session.id);
        if let Some(connection) = session.connection {
            self.by_connection.remove(&connection);
        }
        self.unlist(session.peer, slot);
        self.timers.clear(slot);
        if let Some(generation) = self.generations.get_mut(slot as usize) {
            *generation = (*generation + 1) % (1 << (32 - SLOT_BITS));
        }
        self.free.push(slot);
        self.count -= 1;
    }

    fn unlist(&mut self, peer: PublicKey, slot: u32) {
        if let Some(slots) = self.by_peer.get_mut(&peer) {
            slots.retain(|&other| other != slot);
            if slots.is_empty() {
                self.by_peer.remove(&peer);
            }
        }
    }

    /// Ends all keys and handshakes of a session.
    fn clear_keys(&mut self, slot: u32) {
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        session.drop_attempt(&mut self.shared);
        session.keys.clear(|gone| self.shared.forget(&gone));
        session.established = None;
    }

    /// Sets the timer of a session.
    fn arm(&mut self, slot: u32) {
        if let Some(Some(session)) = self.sessions.get(slot as usize)
            && let Some(at) = session.next_timeout(&self.limits)
        {
            self.timers.set_no_later(slot, at);
        }
    }
}

impl Session {
    /// Takes over a configuration, but for the connection.
    fn configure(&mut self, now: Instant, config: SessionConfig) {
        self.name = config.name;
        self.kind = config.kind;
        self.peer = config.peer;
        self.psk = config.psk;
        self.initiate = config.initiate;
        self.create = config.create;
        self.largest_wish = config.largest_wish;
        if self.connection.is_none() {
            self.key = config.key;
            self.anchor = config
                .remote
                .map(|(socket, remote)| Anchor::proved(Source { socket, remote }, WITHOUT_PATH));
        }
        self.timing = config.timing;
        for path in &mut self.paths {
            path.set_timing(now, config.timing);
        }
        debug_assert!(self.kind == Kind::Connection || config.paths.is_empty());
    }

    /// What others have changed of the connection.
    fn follow_connection<P: Copy>(&mut self, tunnels: &Tunnels<P>) {
        if let Some(connection) = self.connection.and_then(|id| tunnels.connection(id)) {
            self.key = connection.config().key;
        }
    }

    /// Takes over which paths there are.
    fn attach_paths<P: Copy>(
        &mut self,
        now: Instant,
        paths: &[(SessionPathId, PathId)],
        tunnels: &mut Tunnels<P>,
    ) {
        let mut before = std::mem::take(&mut self.paths);
        for &(given, id) in paths.iter().take(super::MAX_PATHS) {
            let Some(data) = tunnels.path(id) else { continue };
            let own = given != 0 && self.initiate;
            let known =
                before.iter().position(|path| path.is(id, data) && (!own || path.own_id == given));
            let mut path = match known {
                Some(known) => {
                    let mut path = before.swap_remove(known);
                    path.follow(now, data);
                    path
                }
                None => {
                    let own_id = if own { given } else { self.new_path_id() };
                    self.reserve_path_id(own_id);
                    let mut path = SessionPath::new(now, id, data, own_id, self.timing);
                    path.liveness.set_active(now, self.active);
                    path.discovery.set_active(now, self.active);
                    path
                }
            };
            if given != 0 && !self.initiate {
                path.peer_id = Some(given);
                path.bound = self.handshakes;
            }
            self.paths.push(path);
        }
        if let Some(connection) = self.connection {
            for i in 0..self.paths.len() {
                self.follow_table(now, i, connection, tunnels);
            }
        }
        self.set_active(now, true, tunnels);
    }
}
