//! Initiations of others: who may have a session, which one it is, and whether it gets keys.

use std::net::SocketAddr;
use std::time::Instant;

use mpt_wire::control::hello::{Hello, Kind};
use mpt_wire::control::{Capability, frame};

use super::greeting::hello_name;
use crate::SocketId;
use crate::session::engine::interface::config::MAX_JOINING;
use crate::session::engine::keys::data_keys::DataKeys;
use crate::session::engine::keys::epochs::Epoch;
use crate::session::engine::lifecycle::origin::Origin;
use crate::session::engine::lifecycle::session::{Beginning, Identity, Session, Terms};
use crate::session::engine::{Destination, Sessions};
use crate::session::handshake::unconfirmed::{self, Decision};
use crate::session::{HandshakeError, Incoming, PublicKey, Received, Verdict};

/// The session that an initiation is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// It exists.
    Known(u32),
    /// The peer may open it.
    New,
}

/// The source of an initiation, and the way to answer there.
#[derive(Clone, Copy)]
struct Sender<'a> {
    socket: SocketId,
    remote: SocketAddr,
    initiation: frame::Initiation<'a>,
}

impl Sessions {
    /// Handles an initiation, the cheapest steps first (see [`Incoming`]).
    pub(crate) fn handle_initiation(
        &mut self,
        now: Instant,
        socket: SocketId,
        remote: SocketAddr,
        initiation: frame::Initiation<'_>,
    ) {
        let sender = Sender { socket, remote, initiation };
        let shared = &mut self.shared;
        let Some(identity) = &shared.identity else {
            shared.counters.unknown_peer += 1;
            return;
        };
        let Ok(incoming) = Incoming::verify(identity, initiation) else {
            shared.counters.bad_mac += 1;
            return;
        };
        let fingerprint = incoming.fingerprint();
        if let Some(&slot) = shared.answers.get(&fingerprint) {
            let session = self.sessions.get(slot as usize).and_then(Option::as_ref);
            let answer =
                session.and_then(|it| Some((it.identity.key, it.keys.answer(fingerprint)?)));
            if let Some((key, response)) = answer {
                let response = response.frame(initiation.path_id());
                self.reply(sender, key, &response);
            }
            return;
        }
        let secret = &mut self.cookie_secret;
        let has_cookie = || secret.check(now, remote, &initiation);
        match self.admission.admit(now, remote.ip(), has_cookie) {
            Verdict::Accept => {}
            Verdict::AskForCookie => {
                shared.counters.cookies_sent += 1;
                return self.send_cookie(now, sender);
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
        let Some(target) = self.target_of(received.peer, &received.hello) else {
            self.shared.counters.unknown_peer += 1;
            return;
        };
        let session = match target {
            Target::Known(slot) => self.sessions.get(slot as usize).and_then(Option::as_deref),
            Target::New => None,
        };
        if session.is_some_and(|session| session.has_precedence(now, &self.shared)) {
            self.shared.counters.crossed += 1;
            return;
        }
        let answered = session.and_then(|session| session.handshake.answered);
        let challenge = received.hello.challenge;
        let shown = challenge.filter(|challenge| {
            Some(challenge.time) > answered && self.cookie_secret.is_good(now, challenge)
        });
        if challenge.is_some() && shown.is_none() {
            self.shared.counters.stale_challenges += 1;
        }
        let shown = shown.map(|challenge| challenge.time);
        let occupied = self.is_occupied(received.peer, target);
        let decision = match session {
            Some(session) => {
                let unconfirmed = session.keys.answered().map(|keys| keys.challenge);
                unconfirmed::decide(unconfirmed, occupied, answered, shown)
            }
            None => unconfirmed::decide(std::iter::empty(), occupied, answered, shown),
        };
        let room = match target {
            Target::Known(_) => Ok(()),
            Target::New => self.room_for(received.peer, &received.hello),
        };
        let (oldest, victim) = match (decision, room) {
            (_, Err(None)) => {
                self.shared.counters.unknown_peer += 1;
                return;
            }
            (Decision::Answer { evict }, Ok(())) => (evict, None),
            (Decision::Answer { evict }, Err(victim)) if shown.is_some() => (evict, victim),
            _ => {
                self.shared.counters.challenges_sent += 1;
                return self.send_cookie(now, sender);
            }
        };
        if let Some(victim) = victim {
            self.shared.counters.keys_evicted += 1;
            self.remove(victim);
        }
        let slot = match target {
            Target::Known(slot) => slot,
            Target::New => match self.open_session(now, received.peer, &received.hello) {
                Some(slot) => slot,
                None => return,
            },
        };
        self.answer_initiation(now, sender, slot, (received, fingerprint), shown, oldest);
    }

    /// Makes keys for an initiation, in place of those at `evict`, and answers it.
    fn answer_initiation(
        &mut self,
        now: Instant,
        sender: Sender<'_>,
        slot: u32,
        (received, fingerprint): (Received, crate::session::Fingerprint),
        shown: Option<u64>,
        evict: Option<usize>,
    ) {
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        let shared = &mut self.shared;
        let index = shared.new_index(slot);
        let restores = received.hello.capabilities.has(Capability::FORWARD_CORRECTION);
        let challenge = received.hello.challenge;
        let agreement = session.accept(shared, &received.hello);
        let sealing = agreement.map(|agreement| agreement.responder);
        let responded =
            received.respond(session.identity.psk.as_ref(), index, &session.welcome(sealing));
        let (response, mut transport) = match responded {
            Ok(responded) => responded,
            Err(error) => {
                debug_assert_ne!(error, HandshakeError::Index);
                shared.indices.remove(&index);
                shared.release(sealing);
                shared.counters.handshake_failed += 1;
                self.remove_if_unused(slot);
                return;
            }
        };
        let oldest = evict.and_then(|place| session.keys.answered().nth(place));
        if let Some(oldest) = oldest.map(|oldest| oldest.transport.local_index())
            && let Some(oldest) = session.keys.take_candidate(oldest)
        {
            shared.counters.keys_evicted += 1;
            shared.forget(&oldest);
        }
        let answer = response.frame(sender.initiation.path_id());
        let data = DataKeys::take(&mut transport, agreement.as_ref());
        let mut keys = Epoch::new(now, session.handshake.next_ordinal(), transport, data);
        keys.answer = Some((fingerprint, response));
        keys.challenge = shown;
        keys.restores = restores;
        session.keys.candidates.push(keys);
        if let (Some(time), Some(challenge)) = (shown, challenge) {
            session.handshake.answered = Some(time);
            self.cookie_secret.use_up(now, &challenge);
        }
        let key = session.identity.key;
        shared.answers.insert(fingerprint, slot);
        if let Some(evicted) = shared.pending.insert(index, shown.is_some()) {
            shared.counters.keys_evicted += 1;
            self.evict(evicted);
        }
        self.reply(sender, key, &answer);
        self.arm(slot);
    }

    /// Answers an initiation with a cookie and a challenge.
    fn send_cookie(&mut self, now: Instant, sender: Sender<'_>) {
        let Some(own) = self.shared.public else { return };
        let random = &mut self.shared.random;
        let Sender { remote, initiation, .. } = sender;
        let cookie = self.cookie_secret.reply(now, &own, remote, &initiation, random);
        self.reply(sender, None, &cookie);
    }

    fn reply(&mut self, sender: Sender<'_>, key: Option<u32>, bytes: &[u8]) {
        let destination = Destination::Address { socket: sender.socket, remote: sender.remote };
        let shared = &mut self.shared;
        shared.outbox.send(&mut shared.counters, destination, key, |frame| {
            frame.extend_from_slice(bytes);
            true
        });
    }

    /// Unconfirmed keys have to make room.
    fn evict(&mut self, index: u32) {
        let Some(&slot) = self.shared.indices.get(&index) else { return };
        if let Some(Some(session)) = self.sessions.get_mut(slot as usize)
            && let Some(gone) = session.keys.take_candidate(index)
        {
            self.shared.forget(&gone);
        }
        self.remove_if_unused(slot);
    }

    /// Removes a session that a peer wanted to open, and for which there are no keys any more.
    fn remove_if_unused(&mut self, slot: u32) {
        let session = self.sessions.get(slot as usize).and_then(Option::as_ref);
        if session.is_some_and(|session| session.origin.is_peer() && session.keys.is_empty()) {
            self.remove(slot);
        }
    }

    /// Returns the session that an initiation of this peer is for; `None` if the peer may not have
    /// it.
    fn target_of(&self, peer: PublicKey, hello: &Hello) -> Option<Target> {
        let of_peer = self.by_peer.get(&peer).map_or(&[][..], Vec::as_slice);
        let all = of_peer.iter().filter_map(|&slot| {
            let session = self.sessions.get(slot as usize)?.as_deref()?;
            (session.identity.kind == hello.kind).then_some((slot, session))
        });
        let configured = || all.clone().filter(|(_, session)| !session.origin.is_peer());
        let keyed = |key: u32| configured().find(|(_, session)| session.identity.key == Some(key));
        let named = || configured().find(|(_, it)| hello_name(&it.identity.name) == hello.name);
        if hello.kind == Kind::Joining {
            return self.joining_target(peer, hello.name.as_str());
        }
        let allowed = self.peers.get(&peer).filter(|peer| peer.may_have(hello.kind));
        // The only one there can be, whatever each end calls it.
        let only = || match (allowed, configured().count()) {
            (None, 1) => configured().next(),
            _ => None,
        };
        let found = hello.key.and_then(keyed).or_else(named).or_else(only);
        if let Some((slot, _)) = found {
            return Some(Target::Known(slot));
        }
        allowed?;
        let dynamic = || all.clone().filter(|(_, session)| session.origin.is_peer());
        let found = dynamic().find(|(_, it)| it.identity.name == hello.name.as_str());
        Some(found.map_or(Target::New, |(slot, _)| Target::Known(slot)))
    }

    /// True if keys of an unchallenged initiation find no room outside of the session: there are as
    /// many as there may be, or another session of the peer waits for its first frame.
    fn is_occupied(&self, peer: PublicKey, target: Target) -> bool {
        let own = match target {
            Target::Known(slot) => Some(slot),
            Target::New => None,
        };
        let waits = |slot: u32| {
            let session = self.sessions.get(slot as usize).and_then(Option::as_deref);
            session.is_some_and(|session| session.is_never_confirmed())
        };
        let of_peer = self.by_peer.get(&peer).map_or(&[][..], Vec::as_slice);
        let others = || of_peer.iter().any(|&slot| Some(slot) != own && waits(slot));
        self.shared.pending.is_full() || (own.is_none_or(waits) && others())
    }

    /// Ok if a peer has room for another session as in its Hello. Otherwise the session that may go
    /// for it, if any: one that a recorded initiation may have made.
    fn room_for(&self, peer: PublicKey, hello: &Hello) -> Result<(), Option<u32>> {
        let at = |slot: u32| self.sessions.get(slot as usize).and_then(Option::as_deref);
        let recorded = |&slot: &u32| at(slot).is_some_and(Session::may_be_recorded);
        if hello.kind == Kind::Joining {
            let sessions = self.joining_sessions(hello.name.as_str());
            if sessions.clone().count() >= MAX_JOINING {
                return Err(sessions.clone().find(recorded));
            }
        } else {
            let of_peer = self.by_peer.get(&peer).map_or(&[][..], Vec::as_slice);
            let sessions = of_peer.iter().copied().filter(|&slot| {
                at(slot).is_some_and(|session| {
                    session.origin.is_peer() && session.identity.kind == hello.kind
                })
            });
            let most = self.peers.get(&peer).map_or(0, |peer| peer.max_sessions);
            if sessions.clone().count() >= most {
                return Err(sessions.clone().find(recorded));
            }
        }
        if self.count < self.limits.sessions {
            return Ok(());
        }
        let indices = &self.shared.indices;
        let mut slots = self.shared.pending.in_order().filter_map(|it| indices.get(&it).copied());
        Err(slots.find(recorded))
    }

    /// Opens a session that a peer asks for.
    fn open_session(&mut self, now: Instant, peer: PublicKey, hello: &Hello) -> Option<u32> {
        let beginning = match hello.kind {
            Kind::Joining => self.joining_session(now, peer, hello)?,
            Kind::Connection | Kind::Steering => {
                let allowed = self.peers.get(&peer)?;
                let identity = Identity {
                    name: hello.name.as_str().to_owned(),
                    kind: hello.kind,
                    peer,
                    psk: allowed.psk.clone(),
                    key: None,
                };
                let (timing, largest_wish) = (allowed.timing, allowed.largest_wish);
                Beginning {
                    identity,
                    terms: Terms { timing, largest_wish },
                    origin: Origin::opened_by_peer(now, allowed.expire_after),
                    seal: allowed.seal,
                }
            }
        };
        let slot = self.insert(now, beginning);
        let pinned = self.shared.sealing_peers.contains(&peer);
        if let Some(session) = self.at(slot) {
            session.keys.policy.pinned = pinned;
        }
        Some(slot)
    }
}
