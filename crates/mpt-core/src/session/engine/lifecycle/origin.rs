//! The origin of a session, and the state that only sessions of that origin have.

use std::time::{Duration, Instant};

/// The origin of a session.
#[derive(Debug)]
pub(crate) enum Origin {
    /// The owner of this end has configured it.
    Configured {
        /// True if this end begins handshakes.
        initiate: bool,
        creation: Creation,
    },
    /// The peer has opened it.
    OpenedByPeer {
        /// The time without a usable path after which it has expired.
        expire_after: Duration,
        /// The time at which a path was last usable, the connection was attached or taken away, or
        /// the session began.
        used: Instant,
        expiry: Expiry,
    },
}

/// Whether the peer has to create its connection before that of this end may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    NotNeeded,
    Awaited,
    Done,
}

/// Whether a session that the peer has opened is still in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    InUse,
    /// The owner was told that it has expired.
    Expired,
}

impl Origin {
    /// A session of the configuration; with `create`, the peer has to create its connection first.
    pub(crate) const fn configured(initiate: bool, create: bool) -> Self {
        Self::Configured { initiate, creation: Creation::new(create) }
    }

    /// A session that the peer opens.
    pub(crate) const fn opened_by_peer(now: Instant, expire_after: Duration) -> Self {
        Self::OpenedByPeer { expire_after, used: now, expiry: Expiry::InUse }
    }

    /// Takes over what the configuration says now. A creation that is done stays so.
    pub(crate) fn configure(&mut self, wanted_initiate: bool, create: bool) {
        if let Self::Configured { initiate, creation } = self {
            *initiate = wanted_initiate;
            if creation.is_needed() != create {
                *creation = Creation::new(create);
            }
        }
    }

    /// Returns true if the peer has opened the session.
    pub(crate) const fn is_peer(&self) -> bool {
        matches!(self, Self::OpenedByPeer { .. })
    }

    /// Returns true if this end begins handshakes.
    pub(crate) const fn initiates(&self) -> bool {
        matches!(self, Self::Configured { initiate: true, .. })
    }

    /// Returns true if the connection may be used.
    pub(crate) const fn is_open(&self) -> bool {
        !matches!(self, Self::Configured { creation: Creation::Awaited, .. })
    }

    /// The peer has created its connection.
    pub(crate) fn open(&mut self) {
        if let Self::Configured { creation: creation @ Creation::Awaited, .. } = self {
            *creation = Creation::Done;
        }
    }

    /// The peer has no connection. Returns true if it had created one: it has to do so again.
    pub(crate) fn reopen(&mut self) -> bool {
        if let Self::Configured { creation: creation @ Creation::Done, .. } = self {
            *creation = Creation::Awaited;
            return true;
        }
        false
    }

    /// Returns the time at which a session of the peer expires, unless it has expired or does not
    /// expire.
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        match self {
            Self::OpenedByPeer { expire_after, used, expiry: Expiry::InUse } => {
                used.checked_add(*expire_after)
            }
            _ => None,
        }
    }

    /// Returns true if a session of the peer has expired.
    pub(crate) const fn is_expired(&self) -> bool {
        matches!(self, Self::OpenedByPeer { expiry: Expiry::Expired, .. })
    }

    /// Sets the time without a usable path after which a session of the peer has expired. Returns
    /// true if it was another one.
    pub(crate) fn set_expire_after(&mut self, after: Duration) -> bool {
        match self {
            Self::OpenedByPeer { expire_after, .. } => {
                std::mem::replace(expire_after, after) != after
            }
            Self::Configured { .. } => false,
        }
    }

    /// Returns the time since which a session of the peer is without use.
    pub(crate) const fn used(&self) -> Option<Instant> {
        match self {
            Self::OpenedByPeer { used, .. } => Some(*used),
            Self::Configured { .. } => None,
        }
    }

    /// A path of the session is usable.
    pub(crate) fn note_usable(&mut self, now: Instant) {
        if let Self::OpenedByPeer { used, expiry, .. } = self {
            (*used, *expiry) = (now, Expiry::InUse);
        }
    }

    /// The session has another connection, or none any more: the time without use begins anew.
    pub(crate) fn note_change(&mut self, now: Instant) {
        if let Self::OpenedByPeer { used, .. } = self {
            *used = now;
        }
    }

    /// The owner is told that a session of the peer has expired.
    pub(crate) fn expire(&mut self) {
        if let Self::OpenedByPeer { expiry, .. } = self {
            *expiry = Expiry::Expired;
        }
    }
}

impl Creation {
    const fn new(create: bool) -> Self {
        if create { Self::Awaited } else { Self::NotNeeded }
    }

    fn is_needed(self) -> bool {
        self != Self::NotNeeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_the_peer_has_to_create_is_open_from_then_until_the_peer_has_none() {
        let mut origin = Origin::configured(true, true);
        assert!(origin.initiates() && !origin.is_open());
        assert!(!origin.reopen(), "it was not created");
        origin.open();
        origin.configure(false, true);
        assert!(!origin.initiates() && origin.is_open(), "the creation stays done");
        assert!(origin.reopen() && !origin.is_open());
        origin.configure(false, false);
        assert!(origin.is_open() && !origin.reopen(), "no creation is needed");
        origin.configure(false, true);
        assert!(!origin.is_open());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any time will do as the first")]
    fn a_session_of_the_peer_is_open_and_expires_once_while_it_is_not_in_use() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut origin = Origin::opened_by_peer(now, second);
        assert!(origin.is_peer() && origin.is_open() && !origin.initiates());
        assert_eq!(origin.expires_at(), Some(now + second));
        origin.expire();
        assert_eq!((origin.is_expired(), origin.expires_at()), (true, None));
        origin.note_change(now + second);
        assert_eq!((origin.is_expired(), origin.used()), (true, Some(now + second)));
        origin.note_usable(now + 2 * second);
        assert_eq!((origin.is_expired(), origin.expires_at()), (false, Some(now + 3 * second)));
        assert!(!origin.set_expire_after(second));
        assert!(origin.set_expire_after(2 * second));
        assert_eq!(origin.expires_at(), Some(now + 4 * second));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any time will do as the first")]
    fn a_session_of_the_configuration_and_one_without_a_limit_never_expire() {
        let now = Instant::now();
        let mut configured = Origin::configured(true, false);
        configured.note_usable(now);
        configured.expire();
        assert_eq!((configured.used(), configured.is_expired()), (None, false));
        assert_eq!(configured.expires_at(), None);
        assert_eq!(Origin::opened_by_peer(now, Duration::MAX).expires_at(), None);
    }
}
