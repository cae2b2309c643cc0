//! The address of the peer of a session without paths.

use std::net::SocketAddr;

use super::source::Source;
use crate::session::engine::{Destination, SessionPathId};

/// Where the peer of a session without paths is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) source: Source,
    pub(crate) path_id: SessionPathId,
    /// True if the address is configured or has answered a challenge.
    pub(crate) proved: bool,
    /// While it is not proved: how many bytes more have come from there than were sent there.
    credit: usize,
}

impl Anchor {
    /// The credit of an address never grows beyond this: enough for the first part of a result.
    const MAX_CREDIT: usize = 4096;

    /// An address that is known to be the peer's.
    pub(crate) fn proved(source: Source, path_id: SessionPathId) -> Self {
        Self { source, path_id, proved: true, credit: 0 }
    }

    /// An authentic frame of `len` bytes came from `source`, on a path that is none here. Gives how
    /// many bytes may be sent there in return; `usize::MAX` where the address is proved.
    pub(crate) fn hear(
        anchor: &mut Option<Self>,
        source: Source,
        (path_id, fresh, len): (SessionPathId, bool, usize),
    ) -> usize {
        match anchor {
            Some(anchor) if anchor.source == source => {
                if fresh {
                    anchor.path_id = path_id;
                }
                if anchor.proved {
                    return usize::MAX;
                }
                anchor.credit = (anchor.credit + len).min(Self::MAX_CREDIT);
                anchor.credit
            }
            // It stays where it was proved, until the other address is.
            Some(Self { proved: true, .. }) => len,
            _ if !fresh => len,
            _ => {
                *anchor = Some(Self { source, path_id, proved: false, credit: len });
                len
            }
        }
    }

    /// The address has so many bytes of credit left.
    pub(crate) fn set_credit(&mut self, source: Source, credit: usize) {
        if self.source == source && !self.proved {
            self.credit = credit;
        }
    }

    /// Returns how many bytes may be sent there.
    pub(crate) fn credit(&self) -> usize {
        if self.proved { usize::MAX } else { self.credit }
    }

    pub(crate) fn remote(&self) -> SocketAddr {
        self.source.remote
    }

    pub(crate) fn destination(&self) -> Destination {
        let Source { socket, remote } = self.source;
        Destination::Address { socket, remote }
    }
}
