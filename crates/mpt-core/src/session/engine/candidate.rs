//! An address that is asked whether the peer is there.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::source::Source;

/// Challenges to an address are sent no faster.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(50);
/// An address that has not answered for so long is forgotten.
const CHALLENGE_LIFETIME: Duration = Duration::from_secs(2);

/// An address from which the peer seems to send, and which has not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    source: Source,
    token: u64,
    since: Instant,
    challenged: Instant,
}

impl Candidate {
    /// An authentic, fresh frame came from `source`, which becomes the candidate. Gives the token of
    /// a challenge to be sent there now, if so.
    pub(super) fn challenge(
        candidate: &mut Option<Self>,
        now: Instant,
        source: Source,
        token: impl FnOnce() -> u64,
    ) -> Option<u64> {
        if candidate.is_some_and(|it| now < it.challenged + CHALLENGE_INTERVAL) {
            return None;
        }
        let same = candidate.filter(|it| it.is_at(source) && it.is_alive(now));
        let (token, since) = same.map_or_else(|| (token(), now), |it| (it.token, it.since));
        *candidate = Some(Self { source, token, since, challenged: now });
        Some(token)
    }

    /// Returns true if an echo from `source` answers the challenge.
    pub(super) fn is_met(&self, now: Instant, source: Source, token: u64) -> bool {
        self.is_at(source) && self.token == token && self.is_alive(now)
    }

    fn is_at(&self, source: Source) -> bool {
        self.source == source
    }

    fn is_alive(&self, now: Instant) -> bool {
        now < self.since + CHALLENGE_LIFETIME
    }
}

/// Where the peer of a session without paths is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) source: Source,
    pub(super) path_id: super::SessionPathId,
    /// True if the address is configured or has answered a challenge.
    pub(super) proved: bool,
    /// While it is not proved: how many bytes more have come from there than were sent there.
    credit: usize,
}

impl Anchor {
    /// The credit of an address never grows beyond this: enough for the first part of a result.
    const MAX_CREDIT: usize = 4096;

    /// An address that is known to be the peer's.
    pub(super) fn proved(source: Source, path_id: super::SessionPathId) -> Self {
        Self { source, path_id, proved: true, credit: 0 }
    }

    /// An authentic frame of `len` bytes came from `source`, on a path that is none here. Gives how
    /// many bytes may be sent there in return; `usize::MAX` where the address is proved.
    pub(super) fn hear(
        anchor: &mut Option<Self>,
        source: Source,
        (path_id, fresh, len): (super::SessionPathId, bool, usize),
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
    pub(super) fn set_credit(&mut self, source: Source, credit: usize) {
        if self.source == source && !self.proved {
            self.credit = credit;
        }
    }

    /// Returns how many bytes may be sent there.
    pub(super) fn credit(&self) -> usize {
        if self.proved { usize::MAX } else { self.credit }
    }

    pub(super) fn remote(&self) -> SocketAddr {
        self.source.remote
    }

    pub(super) fn destination(&self) -> super::Destination {
        let Source { socket, remote } = self.source;
        super::Destination::Address { socket, remote }
    }
}
