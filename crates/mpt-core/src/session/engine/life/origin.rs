//! Who began a session, and what only sessions of that origin have.

use std::time::Duration;

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
    pub(crate) const fn opened_by_peer(expire_after: Duration) -> Self {
        Self::OpenedByPeer { expire_after, expiry: Expiry::InUse }
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

    /// Returns the time without a usable path after which a session of the peer has expired, unless
    /// it has expired or does not expire.
    pub(crate) const fn expires_after(&self) -> Option<Duration> {
        match self {
            Self::OpenedByPeer { expire_after, expiry: Expiry::InUse } => Some(*expire_after),
            _ => None,
        }
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

    /// Notes whether a session of the peer is in use or has expired.
    pub(crate) fn set_expiry(&mut self, now: Expiry) {
        if let Self::OpenedByPeer { expiry, .. } = self {
            *expiry = now;
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
    fn a_session_of_the_peer_is_open_and_expires_once_while_it_is_not_in_use() {
        let second = Duration::from_secs(1);
        let mut origin = Origin::opened_by_peer(second);
        assert!(origin.is_peer() && origin.is_open() && !origin.initiates());
        assert_eq!(origin.expires_after(), Some(second));
        origin.set_expiry(Expiry::Expired);
        assert_eq!(origin.expires_after(), None);
        origin.set_expiry(Expiry::InUse);
        assert!(!origin.set_expire_after(second));
        assert!(origin.set_expire_after(2 * second));
        assert_eq!(origin.expires_after(), Some(2 * second));
        assert_eq!(Origin::configured(true, false).expires_after(), None);
    }
}
