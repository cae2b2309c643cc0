//! The state that all sessions of a [`Sessions`](super::Sessions) share.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::time::Duration;

use mpt_wire::control::frame::MAX_PROBE_PAYLOAD_LEN;
use mpt_wire::control::{PathEntry, Suites};
use rustc_hash::{FxHashMap, FxHashSet};

use super::feedback::budget::FrameBudget;
use super::keys::data_keys::Agreed;
use super::keys::epochs::Epoch;
use super::measurement::survey::SurveyBudget;
use super::requests::shares::Shares;
use super::send::clock::Clock;
use super::send::outbox::Outbox;
use super::{CloseReason, Event, Limits, PathEvent, SessionCounters, SessionId};
use crate::session::{Fingerprint, Pending, PrivateKey, PublicKey, Random};
use crate::{ConnectionId, Shard};

/// Events about paths are dropped while so many wait: their owner does not fetch them.
const MAX_EVENTS: usize = 16_384;

/// The state that all sessions share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The shard whose sessions these are.
    pub(super) shard: Shard,
    pub(super) random: Random,
    pub(super) clock: Clock,
    pub(super) identity: Option<PrivateKey>,
    pub(super) public: Option<PublicKey>,
    pub(super) outbox: Outbox,
    /// Events of paths, for the owner of the tunnels to take at once.
    pub(super) path_events: VecDeque<PathEvent>,
    /// Events of sessions, except requests. Outdated ones are taken out, so that there are only a
    /// few for each session.
    pub(super) events: VecDeque<Event>,
    /// Requests that wait for the owner.
    pub(super) shares: Shares,
    pub(super) surveys: SurveyBudget,
    pub(super) frames: FrameBudget,
    pub(super) counters: SessionCounters,
    /// Place of the session by local index: of its keys, or of a handshake it has begun.
    pub(super) indices: FxHashMap<u32, u32>,
    /// Place of the session that has answered an initiation.
    pub(super) answers: FxHashMap<Fingerprint, u32>,
    pub(super) pending: Pending,
    /// The suites that this end can seal data with.
    pub(super) suites: Suites,
    /// Data indices of this end that are in use.
    pub(super) data_indices: FxHashSet<u32>,
    /// Peers that have sealed the data of a session they opened.
    pub(super) sealing_peers: FxHashSet<PublicKey>,
    /// Data indices, at this end and at the other one, of keys that the tunnels are to erase.
    pub(super) erased: Vec<(u32, u32)>,
    /// Memory for the messages of a frame to be sent,
    pub(super) payload: Vec<u8>,
    /// for those of a frame received,
    pub(super) opened: Vec<u8>,
    /// and for a table of paths.
    pub(super) entries: Vec<PathEntry>,
}

impl Shared {
    pub(super) fn new(shard: Shard, seed: [u8; 32]) -> Self {
        let mut random = Random::new(seed);
        Self {
            shard,
            clock: Clock::new(random.u32()),
            random,
            identity: None,
            public: None,
            outbox: Outbox::default(),
            path_events: VecDeque::new(),
            events: VecDeque::new(),
            shares: Shares::default(),
            surveys: SurveyBudget::default(),
            frames: FrameBudget::new(Limits::default().frames_between_probes),
            counters: SessionCounters::default(),
            indices: FxHashMap::default(),
            answers: FxHashMap::default(),
            pending: Pending::new(),
            suites: Suites::WITHOUT_AES,
            data_indices: FxHashSet::default(),
            sealing_peers: FxHashSet::default(),
            erased: Vec::new(),
            payload: Vec::with_capacity(MAX_PROBE_PAYLOAD_LEN),
            opened: vec![0; MAX_PROBE_PAYLOAD_LEN],
            entries: Vec::new(),
        }
    }

    /// An index that nobody has, for the session at this place.
    pub(super) fn new_index(&mut self, slot: u32) -> u32 {
        let indices = &mut self.indices;
        self.shard.draw_index(&mut self.random, |index| match indices.entry(index) {
            Entry::Vacant(entry) => {
                entry.insert(slot);
                true
            }
            Entry::Occupied(_) => false,
        })
    }

    /// Keys that are no more.
    pub(super) fn forget(&mut self, epoch: &Epoch) {
        let index = epoch.transport.local_index();
        self.indices.remove(&index);
        if let Some(Agreed { local, remote, .. }) = epoch.data.agreement {
            self.erased.push((local, remote));
        }
        if let Some((fingerprint, _)) = &epoch.answer {
            self.pending.remove(index);
            self.answers.remove(fingerprint);
        }
    }

    /// Adds an event that an owner who does not poll may miss.
    pub(super) fn tell(&mut self, event: PathEvent) {
        if self.path_events.len() < MAX_EVENTS {
            self.path_events.push_back(event);
        }
    }

    /// A session is over. The owner need not know what it was not told yet: a session of the
    /// configuration that came and went is over as before, and one that the peer opened never was.
    pub(super) fn tell_closed(
        &mut self,
        session: SessionId,
        connection: Option<ConnectionId>,
        reason: CloseReason,
        dynamic: bool,
    ) {
        let mut unheard = false;
        self.events.retain(|event| match event {
            Event::Established { session: other, .. } if *other == session => {
                unheard = true;
                false
            }
            Event::Closed { session: other, .. } | Event::Expired { session: other, .. } => {
                *other != session
            }
            _ => true,
        });
        if !(unheard && dynamic) {
            self.events.push_back(Event::Closed { session, connection, reason });
        }
    }

    /// From 4/5 of a time to all of it.
    pub(super) fn jitter(&mut self, time: Duration) -> Duration {
        let share = self.random.u32() % 1024;
        time * 4 / 5 + time * share / (5 * 1024)
    }
}
