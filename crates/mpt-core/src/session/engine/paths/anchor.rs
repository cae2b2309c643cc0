//! The address of the peer of a session without paths.

use std::net::SocketAddr;

use super::source::Source;
use crate::session::engine::send::allowance::Allowance;
use crate::session::engine::{Destination, SessionPathId};

/// The address of the peer of a session without paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) source: Source,
    pub(crate) path_id: SessionPathId,
    /// The allowance of the address, which is proved if it is configured or has answered a
    /// challenge.
    pub(crate) allowance: Allowance,
}

impl Anchor {
    /// An address that is known to be the peer's.
    pub(crate) fn proved(source: Source, path_id: SessionPathId) -> Self {
        Self { source, path_id, allowance: Allowance::Unlimited }
    }

    /// An authentic frame of `len` bytes came from `source`, on a path that is none here.
    /// Returns how much may be sent there in return.
    pub(crate) fn hear(
        anchor: &mut Option<Self>,
        source: Source,
        (path_id, fresh, len): (SessionPathId, bool, usize),
    ) -> Allowance {
        match anchor {
            Some(anchor) if anchor.source == source => {
                if fresh {
                    anchor.path_id = path_id;
                }
                anchor.allowance.earn(len);
                anchor.allowance
            }
            // It stays where it was proved, until the other address is.
            Some(Self { allowance: Allowance::Unlimited, .. }) => Allowance::Bytes(len),
            _ if !fresh => Allowance::Bytes(len),
            _ => {
                let allowance = Allowance::Bytes(len);
                *anchor = Some(Self { source, path_id, allowance });
                allowance
            }
        }
    }

    /// So much may still be sent to `source`.
    pub(crate) fn set_allowance(&mut self, source: Source, left: Allowance) {
        if self.source == source && !self.allowance.is_unlimited() {
            self.allowance = left;
        }
    }

    pub(crate) fn remote(&self) -> SocketAddr {
        self.source.remote
    }

    pub(crate) fn destination(&self) -> Destination {
        let Source { socket, remote } = self.source;
        Destination::Address { socket, remote }
    }
}
