//! The places of sessions: how they are found, taken and given back.

use std::ops::Range;
use std::time::Instant;

use super::lifecycle::session::{Beginning, Session};
use super::shared::Shared;
use super::{SLOT_BITS, SessionId, Sessions};
use crate::session::PublicKey;

impl Sessions {
    /// Does something with the session that has an index, and sets its timer anew.
    pub(super) fn with_index(
        &mut self,
        index: u32,
        act: impl FnOnce(&mut Session, u32, &mut Shared),
    ) {
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

    /// Returns the places of sessions, taken or free. There are never as many as 2^32.
    pub(super) fn slots(&self) -> Range<u32> {
        0..u32::try_from(self.sessions.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn at(&mut self, slot: u32) -> Option<&mut Session> {
        self.sessions.get_mut(slot as usize)?.as_deref_mut()
    }

    pub(super) fn id(&self, slot: u32) -> SessionId {
        let generation = self.generations.get(slot as usize).copied().unwrap_or_default();
        let number = u32::from(generation) << SLOT_BITS | slot;
        SessionId { shard: self.shared.shard, number }
    }

    /// Returns the place of a session that exists.
    pub(super) fn slot(&self, id: SessionId) -> Option<u32> {
        let slot = id.number & ((1 << SLOT_BITS) - 1);
        let exists = self.sessions.get(slot as usize).is_some_and(Option::is_some);
        (exists && self.id(slot) == id).then_some(slot)
    }

    /// Puts a session in place.
    pub(super) fn insert(&mut self, now: Instant, beginning: Beginning) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = self.slots().end;
            self.sessions.push(None);
            self.generations.push(0);
            slot
        });
        self.timers.reserve(slot);
        self.by_peer.entry(beginning.identity.peer).or_default().push(slot);
        self.count += 1;
        let (id, first_request) = (self.id(slot), self.shared.random.u32());
        let session = Session::new(now, id, beginning, first_request);
        if let Some(place) = self.sessions.get_mut(slot as usize) {
            *place = Some(Box::new(session));
        }
        slot
    }

    /// Takes a session out of everything.
    pub(super) fn remove(&mut self, slot: u32) {
        self.clear_keys(slot);
        let Some(mut session) = self.sessions.get_mut(slot as usize).and_then(Option::take) else {
            return;
        };
        session.fail_requests(&mut self.shared);
        self.shared.shares.forget(session.identity.peer, session.id);
        if let Some(connection) = session.link.connection() {
            self.by_connection.remove(&connection);
        }
        self.unlist(session.identity.peer, slot);
        self.timers.clear(slot);
        if let Some(generation) = self.generations.get_mut(slot as usize) {
            *generation = (*generation + 1) % (1 << (32 - SLOT_BITS));
        }
        self.free.push(slot);
        self.count -= 1;
    }

    pub(super) fn unlist(&mut self, peer: PublicKey, slot: u32) {
        if let Some(slots) = self.by_peer.get_mut(&peer) {
            slots.retain(|&other| other != slot);
            if slots.is_empty() {
                self.by_peer.remove(&peer);
            }
        }
    }

    /// Ends all keys and handshakes of a session.
    pub(super) fn clear_keys(&mut self, slot: u32) {
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        session.drop_attempt(&mut self.shared);
        session.keys.clear(|gone| self.shared.forget(&gone));
        session.handshake.established = None;
    }

    /// Sets the timer of a session.
    pub(super) fn arm(&mut self, slot: u32) {
        if let Some(Some(session)) = self.sessions.get(slot as usize)
            && let Some(at) = session.next_timeout(&self.limits)
        {
            self.timers.set_no_later(slot, at);
        }
    }
}
