//! Sessions of kind joining: a host that no list of peers has registers its key with a token.
//!
//! As in every session, the first frame under the new keys confirms the session, and the keys depend on a pre-shared key, here that of the token. So
//! a host that knows only the public key of this end, or has recorded an initiation, gets no request through.

use std::time::{Duration, Instant};

use mpt_wire::control::Reason;
use mpt_wire::control::hello::{Hello, Kind};

use super::respond::Target;
use crate::liveness::Timing;
use crate::session::engine::lifecycle::origin::Origin;
use crate::session::engine::lifecycle::session::{Beginning, Identity, Session, Terms};
use crate::session::engine::{CloseReason, Sessions};
use crate::session::{JoinToken, PublicKey};

impl Sessions {
    /// Sets the tokens with which hosts may join: the complete list. Sessions whose token is gone end at once.
    pub(crate) fn set_join_tokens(&mut self, now: Instant, tokens: Vec<JoinToken>) {
        self.tokens = tokens;
        for slot in self.slots() {
            let Some(Some(session)) = self.sessions.get(slot as usize) else { continue };
            if session.origin.is_peer()
                && session.identity.kind == Kind::Joining
                && self.token_of(&session.identity.name).is_none()
            {
                self.end(now, slot, Reason::REFUSED, CloseReason::Revoked);
            }
        }
    }

    fn token_of(&self, id: &str) -> Option<&JoinToken> {
        self.tokens.iter().find(|token| token.id() == id)
    }

    /// Returns the session that an initiation with this token is for; `None` if there is no such token.
    pub(crate) fn joining_target(&self, peer: PublicKey, id: &str) -> Option<Target> {
        self.token_of(id)?;
        let of_peer = |slot: &u32| {
            let session = self.sessions.get(*slot as usize).and_then(Option::as_deref);
            session.is_some_and(|session| session.identity.peer == peer)
        };
        Some(self.joining_sessions(id).find(of_peer).map_or(Target::New, Target::Known))
    }

    /// The places of the sessions that this token has opened.
    pub(crate) fn joining_sessions(&self, id: &str) -> impl Iterator<Item = u32> + Clone {
        let of_token = move |session: &Session| {
            session.origin.is_peer()
                && session.identity.kind == Kind::Joining
                && session.identity.name == id
        };
        let sessions = (0..).zip(&self.sessions);
        sessions.filter(move |(_, it)| it.as_deref().is_some_and(of_token)).map(|(slot, _)| slot)
    }

    /// Returns what a session is made of that a token opens.
    pub(crate) fn joining_session(
        &self,
        now: Instant,
        peer: PublicKey,
        hello: &Hello,
    ) -> Option<Beginning> {
        let token = self.token_of(hello.name.as_str())?;
        let identity = Identity {
            name: token.id().to_owned(),
            kind: Kind::Joining,
            peer,
            psk: Some(token.psk().clone()),
            key: None,
        };
        Some(Beginning {
            identity,
            terms: Terms { timing: Timing::default(), largest_wish: 0 },
            origin: Origin::opened_by_peer(now, Duration::MAX),
            seal: crate::Seal::Off,
        })
    }
}
