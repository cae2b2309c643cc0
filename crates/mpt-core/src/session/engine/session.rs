//! What is known of one session.

use std::time::{Duration, Instant};

use mpt_wire::control::PathEntry;
use mpt_wire::control::hello::Kind;

use super::candidate::{Anchor, Candidate};
use super::data_keys::Policy;
use super::due::Learning;
use super::handshaking::Handshaking;
use super::keys::{Epoch, Keys};
use super::origin::Origin;
use super::path::SessionPath;
use super::peer_table::PeerTable;
use super::requests::Requests;
use super::test::Test;
use super::traffic::Traffic;
use super::{SessionId, SessionPathId};
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
    pub(super) origin: Origin,
    pub(super) timing: Timing,
    pub(super) largest_wish: u16,
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
}

/// What a new session is made of.
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) peer: PublicKey,
    pub(super) psk: Option<PresharedKey>,
    pub(super) timing: Timing,
    pub(super) largest_wish: u16,
    pub(super) origin: Origin,
    pub(super) seal: Seal,
}

impl Session {
    /// A session that begins.
    pub(super) fn new(now: Instant, id: SessionId, identity: Identity, first_request: u32) -> Self {
        let Identity { name, kind, peer, psk, timing, largest_wish, origin, seal } = identity;
        Self {
            id,
            name,
            kind,
            peer,
            psk,
            origin,
            timing,
            largest_wish,
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
        }
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

    /// Returns the smoothed round-trip time of the fastest path.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.paths.iter().filter_map(|path| path.liveness.rtt().smoothed()).min()
    }

    /// The path for a frame that may take any: another one each time, those that work first.
    pub(super) fn any_path(&mut self, place: super::keys::Place) -> Option<usize> {
        let keys = self.keys.at_mut(place)?;
        any_path(&self.paths, &mut self.request_cursor, keys)
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
