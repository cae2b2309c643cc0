//! The turns of peers that want a speed test: one test runs at a time, and no peer takes all the time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mpt_core::session::PublicKey;

/// The time for which a peer that was refused keeps its place in the line after it last asked.
const PLACE: Duration = Duration::from_secs(2);
/// The time that a peer's tests may take at once.
const AT_ONCE: Duration = Duration::from_secs(240);
/// Share of the time that a peer's tests may take in the long run, as its reciprocal.
const SHARE: u32 = 4;

/// The peers that wait for a test, and the time that each has had. There is at most one entry for each key that may hold a session.
#[derive(Debug, Default)]
pub(in crate::daemon) struct TestTurns {
    /// The time since which each waits, and the time at which it last asked.
    waiting: BTreeMap<PublicKey, (Instant, Instant)>,
    /// The time at which each will have its whole time again.
    rested: BTreeMap<PublicKey, Instant>,
}

impl TestTurns {
    /// Returns true if it is the turn of `peer` for a test that takes `duration`, where `free` says that no other test runs. A peer that is refused keeps its
    /// place while it goes on asking.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        peer: PublicKey,
        duration: Duration,
        free: bool,
    ) -> bool {
        self.waiting.retain(|_, (_, asked)| now < *asked + PLACE);
        self.rested.retain(|_, at| now < *at);
        let rested = self.rested.get(&peer).copied().unwrap_or(now) + duration * SHARE;
        if rested.saturating_duration_since(now) > AT_ONCE * SHARE {
            return false;
        }
        let own = self.waiting.get(&peer).map_or(now, |(since, _)| *since);
        // Among peers that wait since the same moment, the one that has had less comes first.
        let place = |peer: &PublicKey, since: Instant| (since, self.rested.get(peer).copied());
        let mine = place(&peer, own);
        let first = self
            .waiting
            .iter()
            .all(|(other, (since, _))| *other == peer || mine <= place(other, *since));
        if !free || !first {
            self.waiting.insert(peer, (own, now));
            return false;
        }
        self.waiting.remove(&peer);
        self.rested.insert(peer, rested);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn peer(n: u8) -> PublicKey {
        PublicKey::from([n; 32])
    }

    /// One asks all the time, the other one now and then.
    #[test]
    fn whoever_waits_comes_before_whoever_had_the_last_one() {
        let (mut turns, start) = (TestTurns::default(), Instant::now());
        assert!(turns.admit(start, peer(1), SECOND, true));
        let later = start + SECOND / 2;
        assert!(!turns.admit(later, peer(2), SECOND, false));
        assert!(!turns.admit(later, peer(1), SECOND, false));
        let over = start + SECOND;
        assert!(!turns.admit(over, peer(1), SECOND, true), "the other one was first");
        assert!(turns.admit(over, peer(2), SECOND, true));
        assert!(turns.admit(over + SECOND, peer(1), SECOND, true));
    }

    #[test]
    fn who_no_longer_asks_holds_nobody_up() {
        let (mut turns, start) = (TestTurns::default(), Instant::now());
        assert!(!turns.admit(start, peer(2), SECOND, false));
        assert!(!turns.admit(start + SECOND, peer(1), SECOND, true));
        assert!(turns.admit(start + 3 * SECOND, peer(1), SECOND, true));
    }

    #[test]
    fn the_time_of_one_peer_is_bounded() {
        let (mut turns, start) = (TestTurns::default(), Instant::now());
        let mut had = Duration::ZERO;
        for n in 0..3600 {
            had += 10
                * SECOND
                * u32::from(turns.admit(start + n * SECOND, peer(1), 10 * SECOND, true));
        }
        assert!(had <= AT_ONCE + 3600 * SECOND / SHARE, "{had:?} in an hour");
        assert!(had >= 3600 * SECOND / SHARE, "{had:?} in an hour");
    }
}
