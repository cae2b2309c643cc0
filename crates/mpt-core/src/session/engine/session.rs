//! What is known of one session.

use std::time::{Duration, Instant};

use mpt_wire::control::PathEntry;
use mpt_wire::control::hello::Kind;

use super::candidate::{Anchor, Candidate};
use super::data_keys::Policy;
use super::due::Learning;
use super::handshaking::Handshaking;
use super::keys::{Epoch, Keys};
use super::path::SessionPath;
use super::peer_table::PeerTable;
use super::requests::Requests;
use super::test::Test;
use super::traffic::Traffic;
use super::{Limits, SessionId, SessionPathId};
use crate::liveness::{State, Timing};
use crate::session::announce::{Announcer, Heard};
use crate::session::{PresharedKey, PublicKey};
use crate::{ConnectionId, PathId, Seal};

/// Names frames where there are no paths.
pub(super) const WITHOUT_PATH: SessionPathId = 1;

/// Length of a probe's messages at least: as much as its echo with a report, an acknowledgement and
/// a probe and the clock of the other end needs, which may not be longer.
pub(super) const PROBE_LEN: usize = 75;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) peer: PublicKey,
    pub(super) psk: Option<PresharedKey>,
    pub(super) initiate: bool,
    pub(super) create: bool,
    pub(super) timing: Timing,
    pub(super) largest_wish: u16,
    pub(super) expire_after: Duration,
    /// The peer opened it.
    pub(super) dynamic: bool,
    /// The connection may be used.
    pub(super) open: bool,
    pub(super) key: Option<u32>,
    pub(super) connection: Option<ConnectionId>,
    pub(super) paths: Vec<SessionPath>,
    next_path_id: SessionPathId,
    /// Where the peer is while there are no paths.
    pub(super) anchor: Option<Anchor>,
    pub(super) anchor_candidate: Option<Candidate>,

    pub(super) policy: Policy,
    pub(super) keys: Keys,
    pub(super) handshake: Handshaking,

    pub(super) announcer: Announcer<PathEntry>,
    pub(super) heard: Heard,
    pub(super) table: Option<PeerTable>,
    /// Which clock of the peer its frames were stamped with.
    pub(super) peer_clock: Option<u32>,
    /// Where the next report goes on.
    pub(super) report_cursor: usize,

    pub(super) requests: Requests,
    pub(super) test: Option<Box<Test>>,
    pub(super) learning: Learning,
    request_cursor: usize,

    pub(super) traffic: Traffic,
    /// The time at which a path was last up.
    pub(super) last_up: Instant,
    /// The time at which a path last worked, the connection was taken away, or the session began.
    pub(super) last_usable: Instant,
    pub(super) expired: bool,
}

/// What a new session is made of.
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) peer: PublicKey,
    pub(super) psk: Option<PresharedKey>,
    pub(super) timing: Timing,
    pub(super) largest_wish: u16,
    pub(super) expire_after: Duration,
    pub(super) seal: Seal,
}

impl Session {
    /// A session that the peer opens.
    pub(super) fn new(now: Instant, id: SessionId, identity: Identity, first_request: u32) -> Self {
        let Identity { name, kind, peer, psk, timing, largest_wish, expire_after, seal } = identity;
        Self {
            id,
            name,
            kind,
            peer,
            psk,
            initiate: false,
            create: false,
            timing,
            largest_wish,
            expire_after,
            dynamic: true,
            open: true,
            key: None,
            connection: None,
            paths: Vec::new(),
            next_path_id: 1,
            anchor: None,
            anchor_candidate: None,
            policy: Policy { seal, ..Policy::default() },
            keys: Keys::default(),
            handshake: Handshaking::new(now),
            announcer: Announcer::new(0, 0),
            heard: Heard::new(),
            table: None,
            peer_clock: None,
            report_cursor: 0,
            requests: Requests::new(first_request),
            test: None,
            learning: Learning::default(),
            request_cursor: 0,
            traffic: Traffic::new(now),
            last_up: now,
            last_usable: now,
            expired: false,
        }
    }

    /// True if the peer opened it and no frame has come yet.
    pub(super) fn is_never_confirmed(&self) -> bool {
        self.dynamic && self.handshake.completed == 0
    }

    /// True if nothing shows that the peer itself has opened it: a recorded initiation may have.
    pub(super) fn may_be_recorded(&self) -> bool {
        self.is_never_confirmed() && self.keys.answered().all(|keys| keys.challenge.is_none())
    }

    /// A path id of our own that was never used in this session. They end after 65,535, which is
    /// many changes; then they begin again behind those in use.
    pub(super) fn new_path_id(&mut self) -> SessionPathId {
        loop {
            let id = self.next_path_id;
            self.next_path_id = id.checked_add(1).unwrap_or(1);
            if self.paths.iter().all(|path| path.own_id != id) {
                return id;
            }
        }
    }

    /// A path id that was given from outside is not given again.
    pub(super) fn reserve_path_id(&mut self, id: SessionPathId) {
        if id >= self.next_path_id {
            self.next_path_id = id.checked_add(1).unwrap_or(1);
        }
    }

    /// Returns the place of a path by its name in a frame.
    pub(super) fn path_at(&self, ours: bool, wire_id: SessionPathId) -> Option<usize> {
        self.paths.iter().position(|path| {
            if ours { path.own_id == wire_id } else { path.peer_id == Some(wire_id) }
        })
    }

    pub(super) fn path_of(&self, id: PathId) -> Option<&SessionPath> {
        self.paths.iter().find(|path| path.id == id)
    }

    /// Returns true if its paths may carry data: the peer has its connection, and knows where our
    /// sequence numbers begin.
    pub(super) fn is_usable(&self) -> bool {
        self.open && self.announcer.is_known()
    }

    /// Returns the smoothed round-trip time of the fastest path.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.paths.iter().filter_map(|path| path.liveness.rtt().smoothed()).min()
    }

    /// The path for a frame that may take any: another one each time, those that work first.
    pub(super) fn any_path(&mut self, place: super::keys::Place) -> Option<usize> {
        let keys = self.keys.at_mut(place)?;
        any_path(&self.paths, &mut self.request_cursor, keys)
    }

    /// Returns when [`super::Sessions::handle_timeout`] has something to do for this session.
    pub(super) fn next_timeout(&self, limits: &Limits) -> Option<Instant> {
        let rtt = self.rtt();
        let paths = self.paths.iter().filter_map(|path| path.liveness.next_timeout());
        let sizes = self.paths.iter().filter_map(|path| path.discovery.next_timeout());
        let surveys = self.paths.iter().filter_map(|path| path.survey.next_timeout());
        let attempt = self.handshake.attempt.as_ref().map(|attempt| attempt.next_send);
        let confirm =
            self.keys.candidates.iter().filter(|it| it.is_initiator()).map(|it| it.confirm_at);
        let has_keys = self.keys.current.is_some();
        let announce = self.announcer.next_due(rtt).filter(|_| has_keys);
        let idle = self.traffic.idle_at().filter(|_| self.connection.is_some());
        let others = [
            attempt,
            announce,
            idle,
            self.handshake_at(),
            self.keys.next_expiry(),
            self.sealing_ends_at(),
            self.requests.next_timeout(),
            self.test.as_ref().and_then(|test| test.speed.next_timeout()),
            self.deadline(limits),
            self.learning.next_timeout(),
        ];
        paths.chain(sizes).chain(surveys).chain(confirm).chain(others.into_iter().flatten()).min()
    }

    /// Returns when a session that the peer opened has been without use for too long.
    pub(super) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        if !self.dynamic || self.expired || self.kind == Kind::Steering {
            return None;
        }
        if self.connection.is_some() {
            return self.last_usable.checked_add(self.expire_after);
        }
        self.without_connection().map(|since| since + limits.attach_within)
    }

    /// Since when a session that has no connection could have one.
    pub(super) fn without_connection(&self) -> Option<Instant> {
        let since = self.handshake.established.filter(|_| self.connection.is_none())?;
        Some(since.max(self.last_usable))
    }
}

fn any_path(paths: &[SessionPath], cursor: &mut usize, keys: &Epoch) -> Option<usize> {
    let usable = |path: &SessionPath| {
        !path.is_suspended() && path.remote.is_some() && path.wire_id(keys).is_some()
    };
    let turn = *cursor;
    *cursor = cursor.wrapping_add(1);
    let in_turn = |i: usize| (turn.wrapping_add(i)) % paths.len();
    let mut places = (0..paths.len()).map(in_turn).filter(|&i| paths.get(i).is_some_and(usable));
    let first = places.clone().next();
    let up = |path: &SessionPath| path.liveness.state() == State::Up;
    places.find(|&i| paths.get(i).is_some_and(up)).or(first)
}
