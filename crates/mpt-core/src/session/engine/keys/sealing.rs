//! Sealed data of a session: what is said about it in a handshake, and which keys the tunnels have.
//!
//! The keys of an epoch go to the tunnels once and are never taken back. Those for what comes in are
//! there as soon as the peer may seal with them, and until the epoch is erased. Those for what is sent
//! follow when a frame has come under the same epoch. An end whose connection has begun anew since,
//! with other numbers, gets none until the next handshake.

use std::time::Instant;

use mpt_wire::control::hello::{Hello, Kind};
use mpt_wire::control::{Sealing, Suites};

use super::data_keys::{Policy, SealState};
use super::epochs::{Epoch, SEND_FOR};
use crate::Tunnels;
use crate::seal::keys::Agreement;
use crate::seal::{Seal, Sealer};
use crate::session::engine::Event;
use crate::session::engine::handshake::handshaking::BETWEEN_RESCUES;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::shared::Shared;

impl Shared {
    /// A data index that nobody has.
    fn new_data_index(&mut self) -> u32 {
        let in_use = &mut self.data_indices;
        self.shard.draw_index(&mut self.random, |index| in_use.insert(index))
    }

    /// Takes the data indices, at this end and at the other one, of keys that are to be erased.
    pub(crate) fn take_erased(&mut self) -> Option<(u32, u32)> {
        let erased = self.erased.pop()?;
        self.data_indices.remove(&erased.0);
        Some(erased)
    }

    /// Nobody uses this data index any more.
    pub(crate) fn release(&mut self, sealing: Option<Sealing>) {
        if let Some(sealing) = sealing {
            self.data_indices.remove(&sealing.index);
        }
    }
}

impl Session {
    /// Returns what this end says of sealed data as the initiator of a handshake.
    pub(crate) fn offer(&self, shared: &mut Shared) -> Option<Sealing> {
        let wanted = self.keys.policy.seal.is_wanted() && self.identity.kind == Kind::Connection;
        wanted.then(|| Sealing {
            index: shared.new_data_index(),
            suites: shared.suites,
            first: self.keys.policy.first,
        })
    }

    /// Returns what this end says as the responder, and what is agreed then.
    pub(crate) fn accept(&self, shared: &mut Shared, hello: &Hello) -> Option<Agreement> {
        let initiator = hello.sealing?;
        let suite = initiator.suites.agree(shared.suites)?;
        let own = self.offer(shared)?;
        let responder = Sealing { suites: Suites::only(suite), ..own };
        Some(Agreement { suite, initiator, responder })
    }

    /// Gives the tunnels the keys that they are to have by now, and takes from them what they are not
    /// to use any more.
    pub(crate) fn hand_over<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(id) = self.link.connection() else { return };
        let keys = &mut self.keys;
        let confirmed = [&mut keys.current, &mut keys.previous].into_iter().flatten();
        let own = keys.candidates.iter_mut().filter(|epoch| epoch.is_initiator());
        for epoch in confirmed.chain(own) {
            if let Some(opener) = epoch.data.opener.take() {
                tunnels.add_opener(id, opener);
            }
        }
        if let Some(current) = &mut keys.current {
            let plain = current.data.agreement.is_none();
            if !plain && !keys.policy.pinned {
                keys.policy.pinned = true;
                if self.origin.is_peer() {
                    shared.sealing_peers.insert(self.identity.peer);
                }
            }
            let accepted = keys.policy.seal == Seal::On && !keys.policy.pinned;
            tunnels.set_plain_peer(id, plain && accepted);
            if let Some(sealer) = current.data.sealer.take() {
                tunnels.set_sealer(id, sealer);
            }
            if plain || now >= current.since + SEND_FOR {
                tunnels.drop_sealer(id);
            }
        } else {
            tunnels.drop_sealer(id);
        }
        self.tell_unsealed(shared);
        if let Some(connection) = tunnels.connection(id) {
            self.keys.policy.first = connection.next_number();
            let agreed = self.keys.current.as_ref().is_some_and(|it| it.data.agreement.is_some());
            self.keys.policy.starved = agreed && connection.sealer().is_none_or(Sealer::is_worn);
        }
    }

    /// Tells the owner if the peer does not seal although this end would.
    fn tell_unsealed(&mut self, shared: &mut Shared) {
        let state = self.seal_state();
        let refused = match state {
            SealState::PlainPeer => false,
            SealState::Refused => true,
            // There may be keys again that say the same as before.
            SealState::Waiting => return,
            SealState::Off | SealState::Sealed(_) => {
                self.keys.policy.told = None;
                return;
            }
        };
        if self.keys.policy.told.replace(state) != Some(state) {
            let (id, peer) = (self.id, self.identity.peer);
            // An event that was not fetched yet tells of an earlier state. The new event replaces it.
            shared.events.retain(
                |event| !matches!(event, Event::Unsealed { session, .. } if *session == id),
            );
            shared.events.push_back(Event::Unsealed { session: id, peer, refused });
        }
    }

    /// Takes over whether data is to be sealed. Returns true if that is another wish than before: then
    /// the keys are to be made anew.
    pub(crate) fn set_seal(&mut self, seal: Seal) -> bool {
        let changed = self.keys.policy.seal != seal;
        if changed {
            self.keys.policy = Policy { seal, first: self.keys.policy.first, ..Policy::default() };
        }
        changed
    }

    /// Returns the state of sealing of its data.
    pub(crate) fn seal_state(&self) -> SealState {
        let agreement = self.keys.current.as_ref().map(|epoch| epoch.data.agreement);
        match (self.keys.policy.seal, agreement) {
            (Seal::Off, _) => SealState::Off,
            (_, None) => SealState::Waiting,
            (_, Some(Some(agreed))) => SealState::Sealed(agreed.suite),
            (Seal::On, Some(None)) if !self.keys.policy.pinned => SealState::PlainPeer,
            (_, Some(None)) => SealState::Refused,
        }
    }

    /// Returns when a handshake is due because data needs other keys.
    pub(crate) fn data_keys_at(&self, current: &Epoch) -> Option<Instant> {
        self.keys.policy.starved.then(|| current.since + BETWEEN_RESCUES)
    }

    /// Returns when the keys in use are too old to seal with, if they are not yet.
    pub(crate) fn sealing_ends_at(&self) -> Option<Instant> {
        let current = self.keys.current.as_ref().filter(|_| !self.keys.policy.starved)?;
        current.data.agreement.map(|_| current.since + SEND_FOR)
    }
}
