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
pub(in crate::session::engine) const WITHOUT_PATH: SessionPathId = 1;

/// Length of a probe's messages at least: as much as its echo with a report, an acknowledgement and
/// a probe and the clock of the other end needs, which may not be longer.
pub(in crate::session::engine) const PROBE_LEN: usize = 75;

/// One session.
#[derive(Debug)]
pub(in crate::session::engine) struct Session {
    pub(in crate::session::engine) id: SessionId,
    pub(in crate::session::engine) name: String,
    pub(in crate::session::engine) kind: Kind,
    pub(in crate::session::engine) peer: PublicKey,
    pub(in crate::session::engine) psk: Option<PresharedKey>,
    pub(in crate::session::engine) origin: Origin,
    pub(in crate::session::engine) timing: Timing,
    pub(in crate::session::engine) largest_wish: u16,
    pub(in crate::session::engine) key: Option<u32>,
    pub(in crate::session::engine) link: Link,
    pub(in crate::session::engine) paths: Paths,

    pub(in crate::session::engine) policy: Policy,
    pub(in crate::session::engine) keys: Keys,
    pub(in crate::session::engine) handshake: Handshaking,

    pub(in crate::session::engine) announcer: Announcer<PathEntry>,
    pub(in crate::session::engine) heard: Heard,
    pub(in crate::session::engine) table: Option<PeerTable>,

    pub(in crate::session::engine) requests: Requests,
    pub(in crate::session::engine) test: Option<Box<Test>>,
    pub(in crate::session::engine) learning: Learning,

    pub(in crate::session::engine) traffic: Traffic,
    /// The time at which a path was last up.
    pub(in crate::session::engine) last_up: Instant,
    /// The time at which a path last worked, the connection was taken away, or the session began.
    pub(in crate::session::engine) last_usable: Instant,
}

/// What a new session is made of.
pub(in crate::session::engine) struct Identity {
    pub(in crate::session::engine) name: String,
    pub(in crate::session::engine) kind: Kind,
    pub(in crate::session::engine) peer: PublicKey,
    pub(in crate::session::engine) psk: Option<PresharedKey>,
    pub(in crate::session::engine) timing: Timing,
    pub(in crate::session::engine) largest_wish: u16,
    pub(in crate::session::engine) origin: Origin,
    pub(in crate::session::engine) seal: Seal,
}

impl Session {
    /// A session that begins.
    pub(in crate::session::engine) fn new(
        now: Instant,
        id: SessionId,
        identity: Identity,
        first_request: u32,
    ) -> Self {
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
