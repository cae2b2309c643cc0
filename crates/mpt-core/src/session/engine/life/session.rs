//! What is known of one session.

use std::time::Instant;

use mpt_wire::control::PathEntry;
use mpt_wire::control::hello::Kind;

use super::origin::Origin;
use super::traffic::Traffic;
use crate::Seal;
use crate::liveness::Timing;
use crate::session::announce::{Announcer, Heard};
use crate::session::engine::handshake::handshaking::Handshaking;
use crate::session::engine::keys::data_keys::Policy;
use crate::session::engine::keys::epochs::Keys;
use crate::session::engine::learnt::due::Learning;
use crate::session::engine::learnt::test::Test;
use crate::session::engine::paths::all::Paths;
use crate::session::engine::paths::link::Link;
use crate::session::engine::paths::peer_table::PeerTable;
use crate::session::engine::requests::unanswered::Requests;
use crate::session::engine::{SessionId, SessionPathId};
use crate::session::{PresharedKey, PublicKey};

/// Names frames where there are no paths.
pub(crate) const WITHOUT_PATH: SessionPathId = 1;

/// Length of a probe's messages at least: as much as its echo with a report, an acknowledgement and
/// a probe and the clock of the other end needs, which may not be longer.
pub(crate) const PROBE_LEN: usize = 75;

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) peer: PublicKey,
    pub(crate) psk: Option<PresharedKey>,
    pub(crate) origin: Origin,
    pub(crate) timing: Timing,
    pub(crate) largest_wish: u16,
    pub(crate) key: Option<u32>,
    pub(crate) link: Link,
    pub(crate) paths: Paths,

    pub(crate) policy: Policy,
    pub(crate) keys: Keys,
    pub(crate) handshake: Handshaking,

    pub(crate) announcer: Announcer<PathEntry>,
    pub(crate) heard: Heard,
    pub(crate) table: Option<PeerTable>,

    pub(crate) requests: Requests,
    pub(crate) test: Option<Box<Test>>,
    pub(crate) learning: Learning,

    pub(crate) traffic: Traffic,
    /// The time at which a path was last up.
    pub(crate) last_up: Instant,
    /// The time at which a path last worked, the connection was taken away, or the session began.
    pub(crate) last_usable: Instant,
}

/// What a new session is made of.
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) peer: PublicKey,
    pub(crate) psk: Option<PresharedKey>,
    pub(crate) timing: Timing,
    pub(crate) largest_wish: u16,
    pub(crate) origin: Origin,
    pub(crate) seal: Seal,
}

impl Session {
    /// A session that begins.
    pub(crate) fn new(now: Instant, id: SessionId, identity: Identity, first_request: u32) -> Self {
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
            link: Link::new(),
            paths: Paths::new(),
            policy: Policy { seal, ..Policy::default() },
            keys: Keys::default(),
            handshake: Handshaking::new(now),
            announcer: Announcer::new(0, 0),
            heard: Heard::new(),
            table: None,
            requests: Requests::new(first_request),
            test: None,
            learning: Learning::default(),
            traffic: Traffic::new(now),
            last_up: now,
            last_usable: now,
        }
    }
}
