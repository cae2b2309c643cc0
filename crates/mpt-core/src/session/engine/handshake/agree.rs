//! Handshakes of a session: beginning them, and what follows when keys were agreed.

use std::time::{Duration, Instant};

use mpt_wire::control::{Capability, Challenge, frame};

use super::handshaking::Attempt;
use crate::Tunnels;
use crate::seal::keys::Agreement;
use crate::session::engine::keys::data_keys::DataKeys;
use crate::session::engine::keys::epochs::{CONFIRM_INTERVAL, Epoch, Place};
use crate::session::engine::lifecycle::session::{Session, WITHOUT_PATH};
use crate::session::engine::shared::Shared;
use crate::session::engine::{Destination, Event};
use crate::session::{HandshakeError, Initiation, PrivateKey};

/// An initiation is repeated after this at first,
const FIRST_REPEAT: Duration = Duration::from_millis(250);
/// then after 1.5 times as long each time, but not longer than this:
const LONGEST_REPEAT: Duration = Duration::from_millis(500);
/// a peer that comes back is reached within a second.
const PATIENCE: Duration = Duration::from_secs(300);
/// After that it may be away for good, and is asked as seldom as this.
const LONGEST_REPEAT_AFTER_PATIENCE: Duration = Duration::from_secs(5);
/// The time for which one initiation is repeated before another one is made.
const INITIATION_LIFETIME: Duration = Duration::from_secs(5);
/// Before another attempt with a peer whose key is none.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

impl Session {
    /// Begins a handshake, repeats it, or has its keys confirmed, as is due.
    pub(crate) fn drive_handshake<P: Copy>(
        &mut self,
        now: Instant,
        slot: u32,
        shared: &mut Shared,
        tunnels: &Tunnels<P>,
    ) {
        if let Some(place) = self.keys.unconfirmed()
            && self.keys.at_mut(place).is_some_and(|keys| keys.confirm_at <= now)
        {
            self.confirm(now, place, shared, tunnels);
        }
        if self.handshake_at().is_some_and(|at| at <= now) {
            self.make_initiation(now, now, slot, None, shared);
        }
        let Some(attempt) =
            self.handshake.attempt.as_mut().filter(|attempt| attempt.next_send <= now)
        else {
            return;
        };
        let since = attempt.since;
        if now >= attempt.made + INITIATION_LIFETIME {
            self.make_initiation(now, since, slot, None, shared);
        } else if let Some(challenge) = attempt.refused.take() {
            self.make_initiation(now, since, slot, Some(challenge), shared);
        }
        self.send_and_repeat(now, shared);
    }

    /// Sends the initiation on all paths, and says when that is to be repeated.
    fn send_and_repeat(&mut self, now: Instant, shared: &mut Shared) {
        self.send_initiation(now, shared, None);
        let longest = match self.handshake.attempt.as_ref() {
            Some(attempt) if now >= attempt.since + PATIENCE => LONGEST_REPEAT_AFTER_PATIENCE,
            _ => LONGEST_REPEAT,
        };
        if let Some(attempt) = &mut self.handshake.attempt {
            attempt.next_send = now + shared.jitter(attempt.interval);
            attempt.interval = (attempt.interval * 3 / 2).min(longest);
        }
    }

    /// Makes an initiation in place of the present one, which is remembered: its response or its
    /// cookie may be on its way. `since`: when the first one since the last answer was made.
    fn make_initiation(
        &mut self,
        now: Instant,
        since: Instant,
        slot: u32,
        challenge: Option<Challenge>,
        shared: &mut Shared,
    ) {
        let interval =
            self.handshake.attempt.as_ref().map_or(FIRST_REPEAT, |attempt| attempt.interval);
        let sealing = match &self.handshake.attempt {
            Some(attempt) => attempt.sealing,
            None => self.offer(shared),
        };
        let older = self.handshake.attempt.take().map(|attempt| {
            if let Some(oldest) = attempt.older {
                shared.indices.remove(&oldest.index());
            }
            attempt.initiation
        });
        let index = shared.new_index(slot);
        let Shared { identity, random, .. } = shared;
        let made = identity.as_ref().map(|identity: &PrivateKey| {
            let (psk, hello) = (self.identity.psk.as_ref(), self.hello(challenge, sealing));
            Initiation::new(identity, &self.identity.peer, psk, index, &hello, random)
        });
        if let Some(Ok(initiation)) = made {
            self.handshake.attempt = Some(Attempt {
                initiation,
                challenged: challenge.is_some(),
                older,
                refused: None,
                sealing,
                made: now,
                since,
                next_send: now,
                interval,
            });
        } else {
            shared.indices.remove(&index);
            shared.release(sealing);
            if let Some(older) = older {
                shared.indices.remove(&older.index());
            }
            shared.counters.handshake_failed += u64::from(made.is_some());
            self.handshake.pause(now + PAUSE_AFTER_FAILURE);
        }
    }

    /// Ends a handshake without result.
    pub(crate) fn drop_attempt(&mut self, shared: &mut Shared) {
        if let Some(attempt) = self.handshake.attempt.take() {
            shared.release(attempt.sealing);
            for initiation in [Some(attempt.initiation), attempt.older].into_iter().flatten() {
                shared.indices.remove(&initiation.index());
            }
        }
    }

    /// Sends the initiation on one path or on all.
    fn send_initiation(&mut self, now: Instant, shared: &mut Shared, only: Option<u16>) {
        let Some(attempt) = &self.handshake.attempt else { return };
        let anchor = self.link.proved_anchor();
        let anchor = anchor.map(|anchor| (WITHOUT_PATH, anchor.destination()));
        let paths = self.paths.iter().filter(|path| !path.is_down() && path.remote().is_some());
        let ways = paths.map(|path| (path.own_id, Destination::Path(path.id))).chain(anchor);
        for (path_id, destination) in ways.filter(|way| only.is_none_or(|only| only == way.0)) {
            let initiation =
                attempt.initiation.frame(path_id, self.handshake.cookies.get(now, path_id));
            shared.outbox.send(&mut shared.counters, destination, self.identity.key, |frame| {
                frame.extend_from_slice(&initiation);
                true
            });
        }
    }

    /// The responder wants to see this cookie, its challenge or both.
    pub(crate) fn handle_cookie(
        &mut self,
        now: Instant,
        slot: u32,
        frame: &frame::Cookie<'_>,
        shared: &mut Shared,
    ) {
        let Some(attempt) = &mut self.handshake.attempt else { return };
        let is_present = attempt.initiation.index() == frame.receiver_index();
        let initiation =
            if is_present { Some(&attempt.initiation) } else { attempt.older.as_ref() };
        let Some(Ok(cookie)) = initiation.map(|initiation| initiation.open_cookie(frame)) else {
            shared.counters.handshake_failed += 1;
            return;
        };
        let path_id = frame.path_id();
        let known = self.paths.iter().any(|path| path.own_id == path_id)
            || (self.paths.is_empty() && path_id == WITHOUT_PATH);
        if !known {
            return;
        }
        let challenge = cookie.challenge();
        let first = self.handshake.cookies.get(now, path_id).is_none();
        self.handshake.cookies.insert(now, path_id, cookie);
        if !attempt.challenged {
            // The challenge is good for any initiation.
            let since = attempt.since;
            attempt.interval = FIRST_REPEAT;
            self.make_initiation(now, since, slot, Some(challenge), shared);
            self.send_and_repeat(now, shared);
        } else if first {
            self.send_initiation(now, shared, Some(path_id));
        } else if is_present {
            // It waits for the next repetition: nobody makes us work at another pace.
            attempt.refused = Some(challenge);
        }
    }

    /// The peer has answered our initiation.
    pub(crate) fn handle_response<P: Copy>(
        &mut self,
        now: Instant,
        frame: &frame::Response<'_>,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        // The copies of the answer on the other paths come when the handshake is over.
        let Some(attempt) = &mut self.handshake.attempt else { return };
        let is_present = attempt.initiation.index() == frame.receiver_index();
        let initiation =
            if is_present { Some(&mut attempt.initiation) } else { attempt.older.as_mut() };
        let Some(initiation) = initiation else { return };
        let (mut transport, welcome) = match initiation.finish(frame) {
            Ok(agreed) => agreed,
            Err(HandshakeError::Mac) => {
                shared.counters.bad_mac += 1;
                return;
            }
            Err(error) => {
                shared.counters.handshake_failed += 1;
                if matches!(error, HandshakeError::Payload(_) | HandshakeError::State) {
                    self.drop_attempt(shared);
                    self.handshake.pause(now + PAUSE_AFTER_FAILURE);
                }
                return;
            }
        };
        // The index is now that of the keys.
        let attempt = self.handshake.attempt.take();
        let offered = attempt.as_ref().and_then(|attempt| attempt.sealing);
        let agreement = Agreement::of(offered, welcome.sealing);
        let data = DataKeys::take(&mut transport, agreement.as_ref());
        if data.agreement.is_none() {
            shared.release(offered);
        }
        let other = attempt.and_then(|it| if is_present { it.older } else { Some(it.initiation) });
        if let Some(other) = other {
            shared.indices.remove(&other.index());
        }
        if let Some(older) = self.keys.take_unconfirmed() {
            shared.forget(&older);
        }
        let ordinal = self.handshake.next_ordinal();
        let mut keys = Epoch::new(now, ordinal, transport, data);
        keys.restores = welcome.capabilities.has(Capability::FORWARD_CORRECTION);
        self.keys.candidates.push(keys);
        self.revive(now);
        let forgotten = !welcome.attached && self.origin.reopen();
        if self.handshake.established.is_none() || forgotten {
            self.establish(now, welcome.attached, true, shared);
        }
        if let Some(connection) = self.link.connection().and_then(|id| tunnels.connection(id)) {
            self.tables.renew(connection.next_sequence());
        }
        if let Some(place) = self.keys.unconfirmed() {
            self.confirm(now, place, shared, tunnels);
        }
        self.settle(now, shared, tunnels);
    }

    fn confirm<P: Copy>(
        &mut self,
        now: Instant,
        place: Place,
        shared: &mut Shared,
        tunnels: &Tunnels<P>,
    ) {
        if let Some(keys) = self.keys.at_mut(place) {
            keys.confirm_at = now + CONFIRM_INTERVAL;
        }
        self.send_confirmation(now, shared, place, tunnels);
    }

    /// A frame has come under these keys: they replace those in use, if they are newer. Gives their
    /// place.
    pub(crate) fn promote<P: Copy>(
        &mut self,
        now: Instant,
        place: Place,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) -> Place {
        let Place::Candidate(_) = place else { return place };
        let Some(keys) = self.keys.at_mut(place) else { return place };
        let (responder, index) = (!keys.is_initiator(), keys.transport.local_index());
        if responder && self.keys.unconfirmed().is_some() {
            // Both ends began at once. The keys of the end with the lower public key win.
            if shared.public.is_some_and(|own| own < self.identity.peer) {
                return place;
            }
            if let Some(own) = self.keys.take_unconfirmed() {
                shared.forget(&own);
            }
        }
        let Some(place) = self.keys.find(index) else { return place };
        let Place::Candidate(at) = place else { return place };
        shared.pending.remove(index);
        self.keys.promote(at, |gone| shared.forget(&gone));
        self.drop_attempt(shared);
        self.handshake.completed += 1;
        shared.counters.handshakes += 1;
        if responder {
            self.revive(now);
            if self.handshake.established.is_none() {
                self.establish(now, self.link.connection().is_some(), false, shared);
            }
            // The peer may have forgotten what we told it.
            if let Some(connection) = self.link.connection().and_then(|id| tunnels.connection(id)) {
                self.tables.renew(connection.next_sequence());
            }
        }
        Place::Current
    }

    /// There are keys again: paths that did not work may do so now.
    fn revive(&mut self, now: Instant) {
        if self.paths.any_up() {
            return;
        }
        for path in self.paths.iter_mut().filter(|path| !path.is_suspended()) {
            path.liveness.revive(now);
        }
    }

    fn establish(&mut self, now: Instant, attached: bool, initiator: bool, shared: &mut Shared) {
        self.handshake.established = Some(now);
        shared.events.push_back(Event::Established {
            session: self.id,
            peer: self.identity.peer,
            name: self.identity.name.clone(),
            kind: self.identity.kind,
            attached,
            initiator,
        });
    }
}
