//! Initiations of others: who may have a session, and which one it is.

use std::net::SocketAddr;
use std::time::Instant;

use mpt_wire::control::frame;
use mpt_wire::control::hello::{Hello, Kind};

use super::super::{HandshakeError, Incoming, PublicKey, Verdict};
use super::keys::Epoch;
use super::session::{Identity, hello_name};
use super::{Control, Destination};
use crate::SocketId;

impl Control {
    /// An initiation has come. What is cheap is looked at first (see [`Incoming`]).
    pub(super) fn handle_initiation(
        &mut self,
        now: Instant,
        socket: SocketId,
        remote: SocketAddr,
        initiation: frame::Initiation<'_>,
    ) {
        let shared = &mut self.shared;
        let Some(identity) = &shared.identity else {
            shared.counters.unknown_peer += 1;
            return;
        };
        let Ok(incoming) = Incoming::verify(identity, initiation) else {
            shared.counters.bad_mac += 1;
            return;
        };
        let back = Destination::Address { socket, remote };
        let fingerprint = incoming.fingerprint();
        if let Some(&slot) = shared.answers.get(&fingerprint) {
            let session = self.sessions.get(slot as usize).and_then(Option::as_ref);
            let answer = session.and_then(|it| Some((it.key, it.keys.answer(fingerprint)?)));
            if let Some((key, response)) = answer {
                let response = response.frame(initiation.path_id());
                self.reply(back, key, &response);
            }
            return;
        }
        let secret = &mut self.cookie_secret;
        let has_cookie = || secret.check(now, remote, &initiation);
        match self.admission.admit(now, remote.ip(), has_cookie) {
            Verdict::Accept => {}
            Verdict::AskForCookie => {
                let own = identity.public();
                let cookie = secret.reply(now, &own, remote, &initiation, &mut shared.random);
                shared.counters.cookies_sent += 1;
                return self.reply(back, None, &cookie);
            }
            Verdict::Refuse => {
                shared.counters.rate_limited += 1;
                return;
            }
        }
        let Ok(received) = incoming.receive(identity, &mut shared.random) else {
            shared.counters.handshake_failed += 1;
            return;
        };
        let Some(slot) = self.session_for(now, received.peer, &received.hello) else {
            self.shared.counters.unknown_peer += 1;
            return;
        };
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        let shared = &mut self.shared;
        if session.has_precedence(now, shared) {
            return;
        }
        let (peer, index) = (received.peer, shared.new_index(slot));
        let responded = received.respond(session.psk.as_ref(), index, &session.welcome());
        let (response, transport) = match responded {
            Ok(responded) => responded,
            Err(error) => {
                debug_assert_ne!(error, HandshakeError::Index);
                shared.indices.remove(&index);
                shared.counters.handshake_failed += 1;
                self.remove_if_unused(slot);
                return;
            }
        };
        let answer = response.frame(initiation.path_id());
        let mut keys = Epoch::new(now, session.next_ordinal(), transport);
        keys.answer = Some((fingerprint, response));
        session.keys.candidates.push(keys);
        let key = session.key;
        shared.answers.insert(fingerprint, slot);
        if let Some(evicted) = shared.pending.insert(peer, index) {
            self.evict(evicted);
        }
        self.reply(back, key, &answer);
        self.arm(slot);
    }

    fn reply(&mut self, destination: Destination, key: Option<u32>, bytes: &[u8]) {
        let shared = &mut self.shared;
        shared.outbox.send(&mut shared.counters, destination, key, |frame| {
            frame.extend_from_slice(bytes);
            true
        });
    }

    /// Unconfirmed keys have to make room.
    fn evict(&mut self, index: u32) {
        let Some(&slot) = self.shared.indices.get(&index) else { return };
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        if let Some(keys) = session.keys.take_candidate(index) {
            self.shared.forget(&keys);
        }
        self.remove_if_unused(slot);
    }

    /// Removes a session that a peer wanted to open, and for which there are no keys any more.
    fn remove_if_unused(&mut self, slot: u32) {
        let session = self.sessions.get(slot as usize).and_then(Option::as_ref);
        if session.is_some_and(|session| session.dynamic && session.keys.is_empty()) {
            self.remove(slot);
        }
    }

    /// The session that an initiation of this peer is for; a new one where it may open some.
    fn session_for(&mut self, now: Instant, peer: PublicKey, hello: &Hello) -> Option<u32> {
        let of_peer = self.by_peer.get(&peer).map_or(&[][..], Vec::as_slice);
        let all = of_peer.iter().filter_map(|&slot| {
            let session = self.sessions.get(slot as usize)?.as_deref()?;
            (session.kind == hello.kind).then_some((slot, session))
        });
        let configured = || all.clone().filter(|(_, session)| !session.dynamic);
        let keyed = |key: u32| configured().find(|(_, session)| session.key == Some(key));
        let named = || configured().find(|(_, it)| hello_name(&it.name) == hello.name);
        let allowed = self.peers.get(&peer).filter(|peer| match hello.kind {
            Kind::Connection => peer.may_connect,
            Kind::Steering => peer.may_steer,
        });
        // The only one there can be, whatever each end calls it.
        let only = || match (allowed, configured().count()) {
            (None, 1) => configured().next(),
            _ => None,
        };
        let found = hello.key.and_then(keyed).or_else(named).or_else(only);
        if let Some((slot, _)) = found {
            return Some(slot);
        }
        let allowed = allowed?;
        let dynamic = || all.clone().filter(|(_, session)| session.dynamic);
        if let Some((slot, _)) = dynamic().find(|(_, it)| it.name == hello.name.as_str()) {
            return Some(slot);
        }
        if dynamic().count() >= allowed.max_sessions || self.count >= self.limits.sessions {
            return None;
        }
        let identity = Identity {
            name: hello.name.as_str().to_owned(),
            kind: hello.kind,
            peer,
            psk: allowed.psk.clone(),
            timing: allowed.timing,
            largest_wish: allowed.largest_wish,
            expire_after: allowed.expire_after,
        };
        Some(self.insert(now, identity))
    }
}
