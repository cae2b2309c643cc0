//! The lifetime of a session that the peer has opened.

use std::time::{Duration, Instant};

use mpt_wire::control::Reason;
use mpt_wire::control::hello::Kind;

use super::session::Session;
use crate::session::engine::shared::Shared;
use crate::session::engine::{CloseReason, Limits};

impl Session {
    /// Returns true if the peer opened it and no frame has come yet.
    pub(crate) fn is_never_confirmed(&self) -> bool {
        self.origin.is_peer() && self.handshake.completed == 0
    }

    /// Returns true if nothing shows that the peer itself has opened it: a recorded initiation may have.
    pub(crate) fn may_be_recorded(&self) -> bool {
        self.is_never_confirmed() && self.keys.answered().all(|keys| keys.challenge.is_none())
    }

    /// Returns why a session that the peer opened is over, if it is.
    pub(crate) fn ends(
        &mut self,
        now: Instant,
        attach_within: Duration,
        shared: &mut Shared,
    ) -> Option<CloseReason> {
        if !self.origin.is_peer() {
            return None;
        }
        if self.keys.is_empty() {
            return Some(CloseReason::Silent);
        }
        let waits = self.identity.kind != Kind::Steering;
        let since = self.without_connection().filter(|_| waits)?;
        if now < since + attach_within {
            return None;
        }
        self.send_goodbye(now, shared, Reason::REFUSED);
        Some(CloseReason::NotAttached)
    }

    /// Returns when a session that the peer opened has been without use for too long.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        if self.identity.kind == Kind::Steering || self.origin.is_expired() {
            return None;
        }
        if self.link.connection().is_some() {
            return self.origin.expires_at();
        }
        self.without_connection().map(|since| since + limits.attach_within)
    }

    /// Returns the time since which a session that the peer opened, and that has no connection, could
    /// have one.
    fn without_connection(&self) -> Option<Instant> {
        let since = self.handshake.established.filter(|_| self.link.connection().is_none())?;
        Some(since.max(self.origin.used()?))
    }
}
