//! The times at which this end begins a handshake, and the rule by which its own has precedence
//! over the peer's.

use std::time::{Duration, Instant};

use super::handshaking::BETWEEN_RESCUES;
use crate::liveness::State;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::shared::Shared;

/// The time for which a handshake of our own has precedence over that of a peer with a higher key.
const PRECEDENCE: Duration = Duration::from_secs(1);

impl Session {
    /// Returns when this end begins a handshake, as far as is known.
    pub(crate) fn handshake_at(&self) -> Option<Instant> {
        if self.handshake.attempt.is_some() || self.keys.unconfirmed().is_some() {
            return None;
        }
        let Some(current) = &self.keys.current else {
            return self.origin.initiates().then_some(self.handshake.pause_until());
        };
        let rekey = self.keys.rekey_at();
        [rekey, self.rescue_at(current.since), self.data_keys_at(current)]
            .into_iter()
            .flatten()
            .min()
            .map(|at| at.max(self.handshake.pause_until()))
    }

    /// Returns when a handshake is begun because no path works: the peer may have begun anew. At
    /// once after the last one has died.
    fn rescue_at(&self, keys_since: Instant) -> Option<Instant> {
        let mut states = self.paths.iter().map(|path| path.liveness.state());
        if !self.origin.initiates()
            || self.paths.is_empty()
            || states.clone().any(|it| it == State::Up)
        {
            return None;
        }
        let dead = states.any(|state| state == State::Dead);
        let since = if dead { keys_since } else { keys_since.max(self.paths.last_up()) };
        Some(since + BETWEEN_RESCUES)
    }

    /// Returns true if the handshake of this end goes on, and the peer's has to stand back. New initiations of the
    /// same handshake do not prolong that.
    pub(crate) fn has_precedence(&self, now: Instant, shared: &Shared) -> bool {
        let young = self.handshake.attempt.as_ref().is_some_and(|it| now < it.since + PRECEDENCE);
        young && shared.public.is_some_and(|own| own < self.identity.peer)
    }

    /// Returns true if this end is to begin a handshake, or to repeat an initiation.
    pub(crate) fn is_handshake_due(&self, now: Instant) -> bool {
        let repeat =
            self.handshake.attempt.as_ref().is_some_and(|attempt| attempt.next_send <= now);
        repeat || self.handshake_at().is_some_and(|at| at <= now)
    }
}
