//! The peers that may open sessions that are not configured, and the end of the sessions of those
//! that may no longer.

use std::time::Instant;

use mpt_wire::control::Reason;
use mpt_wire::control::hello::Kind;
use rustc_hash::FxHashMap;

use crate::Tunnels;
use crate::session::PublicKey;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::{CloseReason, Event, Peer, SessionId, Sessions};

impl Sessions {
    /// Sets who may open sessions that are not configured: the complete list.
    ///
    /// A session that its peer may no longer have ends at once: the peer is not in the list, may have no session of this kind, or has another
    /// pre-shared key. Its keys are erased, the peer is sent a Goodbye (refused), and [`Event::Closed`] tells the owner, who removes the connection. All
    /// other sessions go on under the timers and limits of the list.
    pub(crate) fn set_peers<P: Copy>(
        &mut self,
        now: Instant,
        peers: Vec<Peer>,
        tunnels: &mut Tunnels<P>,
    ) {
        self.peers = peers.into_iter().map(|peer| (peer.public_key, peer)).collect();
        let wanted = |key: &PublicKey| self.peers.get(key).is_some_and(|it| it.seal.is_wanted());
        self.shared.sealing_peers.retain(wanted);
        for slot in self.slots() {
            let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { continue };
            if !session.origin.is_peer() || session.identity.kind == Kind::Joining {
                continue;
            }
            match admitting(&self.peers, session) {
                None => self.end(now, slot, Reason::REFUSED, CloseReason::Revoked),
                Some(peer) => {
                    if session.adopt(now, peer, tunnels) {
                        session.settle(now, &mut self.shared, tunnels);
                        self.timers.set_no_later(slot, now);
                    }
                }
            }
        }
    }

    /// Ends a session for good, though its peer may open another one: sends a Goodbye (refused), erases its keys and tells the owner by
    /// [`Event::Closed`]. The owner removes its connection after the Goodbye was sent.
    pub(crate) fn refuse_session(&mut self, now: Instant, id: SessionId) {
        if let Some(slot) = self.slot(id) {
            self.end(now, slot, Reason::REFUSED, CloseReason::Ended);
        }
    }

    /// Says goodbye to the peer, giving `reason`, and removes the session without an event. The paths of its connection remain as they
    /// are.
    pub(crate) fn close_session(&mut self, now: Instant, id: SessionId, reason: Reason) {
        let Some(slot) = self.slot(id) else { return };
        if let Some(Some(session)) = self.sessions.get_mut(slot as usize) {
            session.send_goodbye(now, &mut self.shared, reason);
        }
        self.remove(slot);
    }

    /// Ends a session whose peer may not have it, when this end is about to begin or repeat a handshake in it. Returns whether it has.
    pub(crate) fn end_if_not_admitted(&mut self, now: Instant, slot: u32) -> bool {
        let Some(Some(session)) = self.sessions.get(slot as usize) else { return true };
        let joining = session.identity.kind == Kind::Joining;
        if !session.origin.is_peer()
            || joining
            || !session.is_handshake_due(now)
            || admitting(&self.peers, session).is_some()
        {
            return false;
        }
        self.end(now, slot, Reason::REFUSED, CloseReason::Revoked);
        true
    }

    pub(crate) fn end(&mut self, now: Instant, slot: u32, goodbye: Reason, reason: CloseReason) {
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        session.send_goodbye(now, &mut self.shared, goodbye);
        if session.handshake.established.is_some() {
            let (session, connection) = (session.id, session.link.connection());
            self.shared.events.push_back(Event::Closed { session, connection, reason });
        }
        self.remove(slot);
    }
}

/// Returns the entry of the peer that opened a session, if it may have it as it is.
fn admitting<'a>(peers: &'a FxHashMap<PublicKey, Peer>, session: &Session) -> Option<&'a Peer> {
    peers.get(&session.identity.peer).filter(|peer| {
        peer.may_have(session.identity.kind)
            && peer.psk == session.identity.psk
            && peer.seal == session.keys.policy.seal
    })
}

impl Session {
    /// Takes over the timers and limits of its peer. Returns whether anything has changed.
    fn adopt<P: Copy>(&mut self, now: Instant, peer: &Peer, tunnels: &mut Tunnels<P>) -> bool {
        let retimed = std::mem::replace(&mut self.terms.timing, peer.timing) != peer.timing;
        let wish = std::mem::replace(&mut self.terms.largest_wish, peer.largest_wish);
        let other_wish = wish != peer.largest_wish;
        if !self.origin.set_expire_after(peer.expire_after) && !retimed && !other_wish {
            return false;
        }
        for path in &mut self.paths {
            if retimed {
                path.set_timing(now, peer.timing);
            }
            let Some(data) = tunnels.path(path.id) else { continue };
            let (out, weight_in) = (data.config().weight_out, data.config().weight_in);
            if self.terms.largest_wish > 0 && out > self.terms.largest_wish {
                // The limit is a weight as good as any, and the path exists.
                let _ = tunnels.set_weights(now, path.id, self.terms.largest_wish, weight_in);
            }
        }
        true
    }
}
