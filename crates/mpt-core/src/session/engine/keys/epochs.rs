//! The keys of a session: those in use, those before, and those not confirmed yet.

use std::time::{Duration, Instant};

use super::data_keys::{DataKeys, Policy};
use crate::Seal;
use crate::session::{Fingerprint, Response, Transport};

/// Keys are renewed by the end that began their handshake after this,
pub(crate) const REKEY_AFTER: Duration = Duration::from_secs(120);
/// and by the other one after this, if nothing came.
pub(crate) const REKEY_BY_RESPONDER_AFTER: Duration = Duration::from_secs(150);
/// The age of keys from which on nothing is sent under them.
pub(crate) const SEND_FOR: Duration = Duration::from_secs(180);
/// The age of keys from which on nothing is received under them.
pub(crate) const RECEIVE_FOR: Duration = Duration::from_secs(240);
/// A responder keeps keys for so long that no frame has come under yet: a queue of some seconds may
/// stand before every frame of the handshake.
pub(crate) const CONFIRM_AS_RESPONDER: Duration = Duration::from_secs(10);
/// An initiator tries for so long to have new keys confirmed.
pub(crate) const CONFIRM_AS_INITIATOR: Duration = Duration::from_secs(5);
/// The interval at which the initiator sends a frame under unconfirmed keys.
pub(crate) const CONFIRM_INTERVAL: Duration = Duration::from_millis(250);

/// The keys of one handshake.
#[derive(Debug)]
pub(crate) struct Epoch {
    pub(crate) transport: Transport,
    pub(crate) since: Instant,
    /// Grows from one handshake of the session to the next.
    pub(crate) ordinal: u64,
    /// At the responder, the answer to further copies of the initiation.
    pub(crate) answer: Option<(Fingerprint, Response)>,
    /// At the responder, the time of the challenge that the initiation has shown.
    pub(crate) challenge: Option<u64>,
    /// The keys of sealed data that came of the same handshake.
    pub(crate) data: DataKeys,
    /// At the initiator, the time of the next frame that has the keys confirmed.
    pub(crate) confirm_at: Instant,
    /// The peer restores data packets from symbols of forward error correction.
    pub(crate) restores: bool,
}

impl Epoch {
    pub(crate) fn new(now: Instant, ordinal: u64, transport: Transport, data: DataKeys) -> Self {
        let (answer, challenge) = (None, None);
        let (confirm_at, restores) = (now, false);
        Self { transport, since: now, ordinal, answer, challenge, data, confirm_at, restores }
    }

    pub(crate) fn is_initiator(&self) -> bool {
        self.transport.is_initiator()
    }

    fn expires(&self) -> Instant {
        self.since + RECEIVE_FOR
    }

    fn unconfirmed_until(&self) -> Instant {
        let lifetime =
            if self.is_initiator() { CONFIRM_AS_INITIATOR } else { CONFIRM_AS_RESPONDER };
        self.since + lifetime
    }
}

/// The keys of a session under which a frame arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Current,
    Previous,
    Candidate(usize),
}

/// The keys of a session, and its policy for those of sealed data.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) policy: Policy,
    pub(crate) current: Option<Epoch>,
    pub(crate) previous: Option<Epoch>,
    /// Unconfirmed epochs, under which no frame has arrived, in the order of their making.
    pub(crate) candidates: Vec<Epoch>,
}

impl Keys {
    /// There are none yet; `seal`: whether data is to be sealed.
    pub(crate) fn new(seal: Seal) -> Self {
        let policy = Policy { seal, ..Policy::default() };
        Self { policy, current: None, previous: None, candidates: Vec::new() }
    }

    /// The keys of this local index.
    pub(crate) fn find(&self, index: u32) -> Option<Place> {
        let is = |epoch: &Epoch| epoch.transport.local_index() == index;
        if self.current.as_ref().is_some_and(is) {
            Some(Place::Current)
        } else if self.previous.as_ref().is_some_and(is) {
            Some(Place::Previous)
        } else {
            self.candidates.iter().position(is).map(Place::Candidate)
        }
    }

    pub(crate) fn at_mut(&mut self, place: Place) -> Option<&mut Epoch> {
        match place {
            Place::Current => self.current.as_mut(),
            Place::Previous => self.previous.as_mut(),
            Place::Candidate(at) => self.candidates.get_mut(at),
        }
    }

    /// The keys to send under: those in use; before there are any, those that await confirmation.
    pub(crate) fn sending(&self, now: Instant) -> Option<Place> {
        let young = |epoch: &&Epoch| now < epoch.since + SEND_FOR;
        if self.current.as_ref().filter(young).is_some() {
            return Some(Place::Current);
        }
        self.unconfirmed()
    }

    /// The keys that this end, as initiator, has to have confirmed.
    pub(crate) fn unconfirmed(&self) -> Option<Place> {
        self.candidates.iter().rposition(Epoch::is_initiator).map(Place::Candidate)
    }

    /// A frame has come under a candidate: it takes the place of the keys in use. Older keys go to `gone`.
    pub(crate) fn promote(&mut self, place: usize, mut gone: impl FnMut(Epoch)) {
        if place >= self.candidates.len() {
            return;
        }
        let mut older: Vec<Epoch> = self.candidates.drain(..=place).collect();
        let promoted = older.pop();
        older.into_iter().for_each(&mut gone);
        let before = std::mem::replace(&mut self.current, promoted);
        if let Some(oldest) = std::mem::replace(&mut self.previous, before) {
            gone(oldest);
        }
    }

    /// Drops what has expired.
    pub(crate) fn expire(&mut self, now: Instant, mut gone: impl FnMut(Epoch)) {
        for place in [&mut self.current, &mut self.previous] {
            if let Some(epoch) = place.take_if(|epoch| epoch.expires() <= now) {
                gone(epoch);
            }
        }
        while let Some(at) = self.candidates.iter().position(|it| it.unconfirmed_until() <= now) {
            gone(self.candidates.remove(at));
        }
    }

    /// The unconfirmed keys that this end made as responder, the oldest first.
    pub(crate) fn answered(&self) -> impl Iterator<Item = &Epoch> + Clone {
        self.candidates.iter().filter(|epoch| !epoch.is_initiator())
    }

    /// Takes out a candidate.
    pub(crate) fn take_candidate(&mut self, index: u32) -> Option<Epoch> {
        let place = self.candidates.iter().position(|it| it.transport.local_index() == index);
        place.map(|place| self.candidates.remove(place))
    }

    /// Takes out the keys that this end, as initiator, tried to have confirmed.
    pub(crate) fn take_unconfirmed(&mut self) -> Option<Epoch> {
        let place = self.candidates.iter().position(Epoch::is_initiator);
        place.map(|place| self.candidates.remove(place))
    }

    /// Returns what was answered to the initiation of this fingerprint.
    pub(crate) fn answer(&self, fingerprint: Fingerprint) -> Option<&Response> {
        let confirmed = [&self.current, &self.previous].into_iter().flatten();
        let mut answers =
            self.candidates.iter().chain(confirmed).filter_map(|it| it.answer.as_ref());
        answers.find(|(of, _)| *of == fingerprint).map(|(_, response)| response)
    }

    /// Drops all of them.
    pub(crate) fn clear(&mut self, gone: impl FnMut(Epoch)) {
        let all = [self.current.take(), self.previous.take()].into_iter().flatten();
        let all = all.chain(self.candidates.drain(..));
        all.for_each(gone);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.current.is_none() && self.previous.is_none() && self.candidates.is_empty()
    }

    /// Returns when [`Self::expire`] has something to do.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        let confirmed = [&self.current, &self.previous].into_iter().flatten().map(Epoch::expires);
        confirmed.chain(self.candidates.iter().map(Epoch::unconfirmed_until)).min()
    }

    /// Returns when the keys in use are to be renewed by this end.
    pub(crate) fn rekey_at(&self) -> Option<Instant> {
        let current = self.current.as_ref()?;
        let after = if current.is_initiator() { REKEY_AFTER } else { REKEY_BY_RESPONDER_AFTER };
        Some(current.since + after)
    }
}
