//! The way to the peer of a session: the paths of a connection, or an address while there is none.

use std::time::Instant;

use super::anchor::Anchor;
use super::candidate::Candidate;
use super::source::Source;
use crate::ConnectionId;
use crate::session::engine::SessionPathId;
use crate::session::engine::send::allowance::Allowance;

/// The way by which a session reaches its peer.
#[derive(Debug)]
pub(crate) enum Link {
    /// The session has a connection, whose paths lead to the peer.
    Attached(ConnectionId),
    /// The session has no connection, and thus no paths.
    Apart {
        /// The address of the peer, as far as it is known.
        anchor: Option<Anchor>,
        /// Another address, which was asked whether the peer is there.
        candidate: Option<Candidate>,
    },
}

impl Link {
    /// There is no connection, and no address is known.
    pub(crate) const fn new() -> Self {
        Self::Apart { anchor: None, candidate: None }
    }

    /// Returns the connection.
    pub(crate) const fn connection(&self) -> Option<ConnectionId> {
        match self {
            Self::Attached(connection) => Some(*connection),
            Self::Apart { .. } => None,
        }
    }

    /// Returns the address of the peer of a session without connection, if it is known.
    pub(crate) const fn anchor(&self) -> Option<Anchor> {
        match self {
            Self::Attached(_) => None,
            Self::Apart { anchor, .. } => *anchor,
        }
    }

    /// Returns the same if it is known to be the peer's.
    pub(crate) fn proved_anchor(&self) -> Option<Anchor> {
        self.anchor().filter(|anchor| anchor.allowance.is_unlimited())
    }

    /// Attaches a connection in place of the one before, which is returned.
    pub(crate) fn attach(&mut self, connection: ConnectionId) -> Option<ConnectionId> {
        std::mem::replace(self, Self::Attached(connection)).connection()
    }

    /// Detaches the connection, and returns it.
    pub(crate) fn detach(&mut self) -> Option<ConnectionId> {
        let connection = self.connection()?;
        *self = Self::new();
        Some(connection)
    }

    /// Takes over the address of the peer that is configured, if there is no connection.
    pub(crate) fn set_anchor(&mut self, configured: Option<Anchor>) {
        if let Self::Apart { anchor, .. } = self {
            *anchor = configured;
        }
    }

    /// An authentic frame came from `source`, on a path that is none here, fresh or not, and so long.
    /// Returns how much may be sent there in return; `None` if there is a connection, so that the frame should have come on a path of it.
    pub(crate) fn hear(
        &mut self,
        source: Source,
        heard: (SessionPathId, bool, usize),
    ) -> Option<Allowance> {
        match self {
            Self::Attached(_) => None,
            Self::Apart { anchor, .. } => Some(Anchor::hear(anchor, source, heard)),
        }
    }

    /// Returns true if an echo from `source` answers the challenge to an address.
    pub(crate) fn is_met(&self, now: Instant, source: Source, token: u64) -> bool {
        match self {
            Self::Attached(_) => false,
            Self::Apart { candidate, .. } => {
                candidate.is_some_and(|candidate| candidate.is_met(now, source, token))
            }
        }
    }

    /// So much may still be sent to `source`.
    pub(crate) fn set_allowance(&mut self, source: Source, left: Allowance) {
        if let Self::Apart { anchor: Some(anchor), .. } = self {
            anchor.set_allowance(source, left);
        }
    }
}
