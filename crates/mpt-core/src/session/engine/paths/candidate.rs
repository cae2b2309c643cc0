//! An address that is asked whether the peer is there.

use std::time::{Duration, Instant};

use super::source::Source;

/// Challenges to an address are sent no faster.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(50);
/// An address that has not answered for so long is forgotten.
const CHALLENGE_LIFETIME: Duration = Duration::from_secs(2);

/// An address from which the peer seems to send, and which has not answered yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    source: Source,
    token: u64,
    since: Instant,
    challenged: Instant,
}

impl Candidate {
    /// An authentic, fresh frame came from `source`, which becomes the candidate. Gives the token of
    /// a challenge to be sent there now, if so.
    pub(crate) fn challenge(
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
    pub(crate) fn is_met(&self, now: Instant, source: Source, token: u64) -> bool {
        self.is_at(source) && self.token == token && self.is_alive(now)
    }

    fn is_at(&self, source: Source) -> bool {
        self.source == source
    }

    fn is_alive(&self, now: Instant) -> bool {
        now < self.since + CHALLENGE_LIFETIME
    }
}
