//! The state of one session.

use std::time::Instant;

use mpt_wire::control::hello::Kind;

use super::origin::Origin;
use super::traffic::Traffic;
use crate::Seal;
use crate::liveness::Timing;
use crate::session::engine::feedback::due::Learning;
use crate::session::engine::handshake::handshaking::Handshaking;
use crate::session::engine::keys::epochs::Keys;
use crate::session::engine::measurement::test::Test;
use crate::session::engine::paths::all::Paths;
use crate::session::engine::paths::exchange::Tables;
use crate::session::engine::paths::link::Link;
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
    pub(crate) identity: Identity,
    pub(crate) origin: Origin,
    pub(crate) terms: Terms,
    pub(crate) link: Link,
    pub(crate) paths: Paths,
    pub(crate) tables: Tables,
    pub(crate) keys: Keys,
    pub(crate) handshake: Handshaking,
    pub(crate) requests: Requests,
    pub(crate) test: Option<Box<Test>>,
    pub(crate) learning: Learning,
    pub(crate) traffic: Traffic,
}

/// The identity of a session, by which both ends recognize it: its purpose and its peer.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The public key of the peer.
    pub(crate) peer: PublicKey,
    pub(crate) psk: Option<PresharedKey>,
    /// The GRE key of its frames: that of the connection, where there is one.
    pub(crate) key: Option<u32>,
}

/// The rights that this end grants a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Timers of the paths.
    pub(crate) timing: Timing,
    /// The largest weight that is used because the peer wishes it.
    pub(crate) largest_wish: u16,
}

/// The parts of a new session.
pub(crate) struct Beginning {
    pub(crate) identity: Identity,
    pub(crate) terms: Terms,
    pub(crate) origin: Origin,
    pub(crate) seal: Seal,
}

impl Session {
    /// A session that begins.
    pub(crate) fn new(
        now: Instant,
        id: SessionId,
        beginning: Beginning,
        first_request: u32,
    ) -> Self {
        let Beginning { identity, terms, origin, seal } = beginning;
        Self {
            id,
            identity,
            origin,
            terms,
            link: Link::new(),
            paths: Paths::new(now),
            tables: Tables::new(),
            keys: Keys::new(seal),
            handshake: Handshaking::new(now),
            requests: Requests::new(first_request),
            test: None,
            learning: Learning::default(),
            traffic: Traffic::new(now),
        }
    }
}
