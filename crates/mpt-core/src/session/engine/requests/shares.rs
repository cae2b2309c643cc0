//! The shares of peers in the owner's time: requests wait here and are handed out in turns.
//!
//! A peer is a public key: its sessions share one rate. A request that is refused is not lost, since
//! the requester repeats it until it is answered.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::session::PublicKey;
use crate::session::bucket::Bucket;
use crate::session::engine::{Event, SessionId};

/// Requests of one key that are taken per second in the long run.
pub const REQUESTS_PER_SECOND: u32 = 50;
/// Requests of one key that are taken at once.
pub const REQUEST_BURST: u32 = 100;
/// Parts of results that are sent to one key per second in the long run: 2 MB/s.
pub const PARTS_PER_SECOND: u32 = 2000;
/// Parts of results that are sent to one key at once: those of two of the longest results.
pub const PART_BURST: u32 = 2048;
/// Requests that the owner works on at a time, of all peers.
pub const MAX_HANDED: usize = 64;
/// Requests that the owner works on at a time, of one key.
pub const MAX_HANDED_PER_PEER: usize = 4;

/// The shares of all peers. There is an entry for each key that asked for something, so no more than
/// there are keys that may hold a session.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    accounts: FxHashMap<PublicKey, Account>,
    /// Keys with a request that may be handed out, each once, in the order of their turns.
    turns: VecDeque<PublicKey>,
    /// Requests that the owner works on, at most [`MAX_HANDED`].
    handed: FxHashMap<(SessionId, u32), PublicKey>,
}

/// The share of one peer.
#[derive(Debug, Default)]
struct Account {
    requests: Bucket,
    parts: Bucket,
    /// The waiting requests in the order of their arrival. Each session has at most
    /// [`RESULTS`](crate::session::requests::RESULTS) unfinished ones.
    waiting: VecDeque<(SessionId, u32, Vec<u8>)>,
    handed: usize,
    /// True if the key is among those that wait for their turn.
    in_turn: bool,
    /// Requests refused since they were last asked for.
    refused: u64,
}

impl Account {
    fn may_be_handed(&self) -> bool {
        !self.waiting.is_empty() && self.handed < MAX_HANDED_PER_PEER
    }
}

impl Shares {
    /// Returns true if a peer may have one more request, and counts it if so.
    pub(crate) fn admit_request(&mut self, now: Instant, peer: PublicKey) -> bool {
        let account = self.accounts.entry(peer).or_default();
        account.requests.take(now, Duration::from_secs(1) / REQUESTS_PER_SECOND, REQUEST_BURST)
    }

    /// Returns true if a peer may have one more part of a result, and counts it if so.
    pub(crate) fn admit_part(&mut self, now: Instant, peer: PublicKey) -> bool {
        let account = self.accounts.entry(peer).or_default();
        account.parts.take(now, Duration::from_secs(1) / PARTS_PER_SECOND, PART_BURST)
    }

    /// Notes that a request of a peer was refused.
    pub(crate) fn refuse(&mut self, peer: PublicKey) {
        self.accounts.entry(peer).or_default().refused += 1;
    }

    /// Lets a request wait for its turn.
    pub(crate) fn wait(&mut self, peer: PublicKey, session: SessionId, id: u32, body: Vec<u8>) {
        let account = self.accounts.entry(peer).or_default();
        account.waiting.push_back((session, id, body));
        self.line_up(peer);
    }

    /// Returns true if there is a request to be handed out.
    pub(crate) fn has_next(&self) -> bool {
        !self.turns.is_empty() && self.handed.len() < MAX_HANDED
    }

    /// Hands out the next request: one of each peer in turn.
    pub(crate) fn next(&mut self) -> Option<Event> {
        while self.handed.len() < MAX_HANDED {
            let peer = self.turns.pop_front()?;
            let Some(account) = self.accounts.get_mut(&peer) else { continue };
            account.in_turn = false;
            // Its session may have ended meanwhile.
            let Some((session, id, body)) = account.waiting.pop_front() else { continue };
            account.handed += 1;
            self.handed.insert((session, id), peer);
            self.line_up(peer);
            return Some(Event::Request { session, id, body });
        }
        None
    }

    /// Takes back a request that the owner has worked on, whether or not its session still exists.
    pub(crate) fn done(&mut self, session: SessionId, id: u32) {
        let Some(peer) = self.handed.remove(&(session, id)) else { return };
        if let Some(account) = self.accounts.get_mut(&peer) {
            account.handed -= 1;
            self.line_up(peer);
        }
    }

    /// Forgets the requests of a session that wait. Those that were handed out count until the owner
    /// has worked on them.
    pub(crate) fn forget(&mut self, peer: PublicKey, session: SessionId) {
        if let Some(account) = self.accounts.get_mut(&peer) {
            account.waiting.retain(|(other, ..)| *other != session);
        }
    }

    /// Takes how many requests of each peer were refused since the last time, and drops the accounts
    /// of those that are as good as new.
    pub(crate) fn take_refused(&mut self, now: Instant) -> Vec<(PublicKey, u64)> {
        let refused = self.accounts.iter_mut().filter(|(_, account)| account.refused > 0);
        let refused = refused.map(|(peer, account)| (*peer, std::mem::take(&mut account.refused)));
        let refused = refused.collect();
        self.accounts.retain(|_, account| {
            account.in_turn
                || account.handed > 0
                || !account.waiting.is_empty()
                || !account.requests.is_full(now)
                || !account.parts.is_full(now)
        });
        refused
    }

    /// Puts a peer at the end of those that wait for their turn, if it has something to wait for.
    fn line_up(&mut self, peer: PublicKey) {
        let Some(account) = self.accounts.get_mut(&peer) else { return };
        if account.may_be_handed() && !account.in_turn {
            account.in_turn = true;
            self.turns.push_back(peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shard;

    fn peer(n: u8) -> PublicKey {
        PublicKey::from([n; 32])
    }

    fn session(number: u32) -> SessionId {
        SessionId { shard: Shard::FIRST, number }
    }

    /// The peers of the requests that are handed out, by the first bytes of their bodies.
    fn handed(shares: &mut Shares) -> Vec<(SessionId, u32, u8)> {
        std::iter::from_fn(|| shares.next())
            .map(|event| match event {
                Event::Request { session, id, body } => (session, id, body[0]),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn each_peer_has_its_turn_and_no_more_than_its_share() {
        let mut shares = Shares::default();
        for id in 0..8 {
            shares.wait(peer(1), session(1), id, vec![1]);
            shares.wait(peer(1), session(2), id, vec![1]);
        }
        shares.wait(peer(2), session(3), 0, vec![2]);
        shares.wait(peer(3), session(4), 0, vec![3]);
        let first = handed(&mut shares);
        let order: Vec<u8> = first.iter().map(|it| it.2).collect();
        assert_eq!(order, [1, 2, 3, 1, 1, 1]);
        assert!(!shares.has_next());
        shares.done(first[0].0, first[0].1);
        shares.done(first[0].0, first[0].1);
        assert_eq!(handed(&mut shares).len(), 1, "one for the one that was done");
    }

    #[test]
    fn a_session_that_ends_takes_what_waits_with_it_and_what_is_worked_on_counts_on() {
        let mut shares = Shares::default();
        (0..6).for_each(|id| shares.wait(peer(1), session(1), id, vec![1]));
        assert_eq!(handed(&mut shares).len(), MAX_HANDED_PER_PEER);
        shares.forget(peer(1), session(1));
        shares.wait(peer(1), session(2), 0, vec![1]);
        assert_eq!(handed(&mut shares).len(), 0);
        shares.done(session(1), 0);
        assert_eq!(handed(&mut shares).len(), 1);
    }

    #[test]
    fn all_together_have_no_more_than_the_owner_takes() {
        let mut shares = Shares::default();
        for n in 0..40 {
            (0..4).for_each(|id| shares.wait(peer(n), session(n.into()), id, vec![n]));
        }
        let first = handed(&mut shares);
        assert_eq!(first.len(), MAX_HANDED);
        for n in 0..40 {
            assert!(first.iter().filter(|it| it.2 == n).count() >= 1, "{n} had its turn");
        }
        first.iter().for_each(|it| shares.done(it.0, it.1));
        assert_eq!(handed(&mut shares).len(), MAX_HANDED);
    }

    #[test]
    fn accounts_are_dropped_when_they_say_nothing_more() {
        #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
        let now = Instant::now();
        let mut shares = Shares::default();
        assert!(shares.admit_request(now, peer(1)));
        shares.refuse(peer(1));
        assert_eq!(shares.take_refused(now), [(peer(1), 1)]);
        assert_eq!((shares.take_refused(now), shares.accounts.len()), (Vec::new(), 1));
        shares.take_refused(now + Duration::from_secs(1));
        assert_eq!(shares.accounts.len(), 0);
    }
}
