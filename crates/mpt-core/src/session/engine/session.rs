//! What is known of one session.

use std::time::Instant;

use mpt_wire::control::PathEntry;
use mpt_wire::control::hello::Kind;

use super::data_keys::Policy;
use super::due::Learning;
use super::handshaking::Handshaking;
use super::keys::Keys;
use super::link::Link;
use super::origin::Origin;
use super::paths::Paths;
use super::peer_table::PeerTable;
use super::requests::Requests;
use super::test::Test;
use super::traffic::Traffic;
use super::{SessionId, SessionPathId};
use crate::Seal;
use crate::liveness::Timing;
use crate::session::announce::{Announcer, Heard};
use crate::session::{PresharedKey, PublicKey};

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
    pub(super) link: Link,
    pub(super) paths: Paths,

    pub(super) policy: Policy,
    pub(super) keys: Keys,
    pub(super) handshake: Handshaking,

    pub(super) announcer: Announcer<PathEntry>,
    pub(super) heard: Heard,
    pub(super) table: Option<PeerTable>,

    pub(super) requests: Requests,
    pub(super) test: Option<Box<Test>>,
    pub(super) learning: Learning,

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
