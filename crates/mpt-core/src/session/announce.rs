//! Telling the peer about our paths, until it knows: the exchange of the table of paths
//! (docs/protocol.md, messages Paths and PathsAck).
//!
//! Each table has a generation, a serial number (RFC 1982), and replaces the one before as a whole.
//! It is repeated until the peer acknowledges it; what is lost, comes twice or out of order does not
//! matter. The epoch names one life of our GRE sequence numbers: when it changes, the peer begins
//! its receive window anew. Generations grow across epochs.

use std::time::{Duration, Instant};

use crate::sequence::Sequence;
use crate::session::bucket::Bucket;

/// Tables that are sent in a second, at most: a peer that changes what it says of its paths changes
/// ours, and each of ours leaves on every path.
pub const TABLES_PER_SECOND: u32 = 50;
/// Tables that are sent as soon as they change, after a while without any: as many paths may go down
/// one by one.
pub const TABLE_BURST: u32 = 16;

/// Time in which another table may be sent, in the long run.
const TABLE_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / TABLES_PER_SECOND as u64);
/// A table is not repeated sooner than this.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(20);
/// Time until the first repetition while no round-trip time is known.
const UNKNOWN_INTERVAL: Duration = Duration::from_millis(100);
/// Repetitions before the time between them begins to double: enough for any loss that leaves a
/// path usable.
const PROMPT_REPETITIONS: u32 = 5;
/// The longest time between two repetitions, when nobody answers.
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);

/// Our side: the table we want the peer to have. `E` is an entry of the table.
#[derive(Clone, Debug)]
pub struct Announcer<E> {
    entries: Vec<E>,
    from: Sequence,
    epoch: u32,
    generation: Sequence,
    /// The first generation of this epoch.
    first: Sequence,
    acknowledged: bool,
    known: bool,
    sent: Option<Instant>,
    /// Times the present generation was sent.
    sendings: u32,
    pace: Bucket,
}

impl<E: Clone + PartialEq> Announcer<E> {
    /// A peer that is to be told everything. `epoch`: random, another one for each life of the
    /// sequence numbers; `from`: the first of them. The table is empty until it is set.
    #[must_use]
    pub fn new(epoch: u32, from: u32) -> Self {
        Self {
            entries: Vec::new(),
            from: Sequence(from),
            epoch,
            generation: Sequence(1),
            first: Sequence(1),
            acknowledged: false,
            known: false,
            sent: None,
            sendings: 0,
            pace: Bucket::default(),
        }
    }

    /// The table from now on; `from` is the sequence number of the next packet. Returns whether that
    /// is a change, hence a new generation that is to be sent at once, or as soon as the rate of
    /// tables allows: then as it is by that time.
    pub fn set(&mut self, entries: &[E], from: u32) -> bool {
        let changed = self.entries != entries;
        if changed {
            self.entries.clear();
            self.entries.extend_from_slice(entries);
            self.next_generation(from);
        }
        changed
    }

    /// The sequence numbers begin a new life at `from`. The generations go on, so that an
    /// acknowledgement from the epoch before cannot be taken for one of this.
    pub fn restart(&mut self, epoch: u32, from: u32) {
        self.epoch = epoch;
        self.next_generation(from);
        self.first = self.generation;
        self.known = false;
    }

    /// The peer may have forgotten everything (it has begun a new session): the same table is to be
    /// sent once more. The acknowledgements of this epoch that came before remain valid.
    pub fn repeat(&mut self) {
        self.acknowledged = false;
        (self.sent, self.sendings) = (None, 0);
    }

    /// Makes the same table a new generation, which holds from `from` on: the peer may have forgotten everything, and its receive window is to begin
    /// where our numbers are now. The acknowledgements of this epoch that came before remain valid.
    pub fn renew(&mut self, from: u32) {
        self.next_generation(from);
    }

    fn next_generation(&mut self, from: u32) {
        self.generation = self.generation.next();
        self.from = Sequence(from);
        self.repeat();
    }

    /// Returns true if the table is to be sent now, again or for the first time. `rtt`: the
    /// smoothed round-trip time, where known.
    #[must_use]
    pub fn due(&self, now: Instant, rtt: Option<Duration>) -> bool {
        !self.acknowledged && self.next_due(rtt).is_none_or(|time| time <= now)
    }

    /// Returns when the table is to be sent again: 1.5 round-trip times after it was last sent, at
    /// least 20 ms; the time doubles after some repetitions, up to a second. A new one is due as
    /// soon as the rate of tables allows. None when it is acknowledged, and when it is due at once.
    #[must_use]
    pub fn next_due(&self, rtt: Option<Duration>) -> Option<Instant> {
        if self.acknowledged {
            return None;
        }
        self.repetition(rtt).max(self.pace.next_token(TABLE_INTERVAL, TABLE_BURST))
    }

    /// Returns when the present generation, which was sent, is to be sent again.
    fn repetition(&self, rtt: Option<Duration>) -> Option<Instant> {
        let sent = self.sent?;
        let first = rtt.map_or(UNKNOWN_INTERVAL, |rtt| (rtt * 3 / 2).max(SHORTEST_INTERVAL));
        // Ten doublings are more than the bound allows.
        let doublings = self.sendings.saturating_sub(1 + PROMPT_REPETITIONS).min(10);
        let interval = (first * (1 << doublings)).min(LONGEST_INTERVAL.max(first));
        Some(sent + interval)
    }

    /// The table was sent, once on each path that seemed right.
    pub fn sent(&mut self, now: Instant) {
        self.pace.take(now, TABLE_INTERVAL, TABLE_BURST);
        self.sent = Some(now);
        self.sendings = self.sendings.saturating_add(1);
    }

    /// The peer has this generation. Returns whether that is the present one, for the first time.
    /// Acknowledgements of generations that never were are ignored.
    pub fn acknowledged(&mut self, generation: u32) -> bool {
        let generation = Sequence(generation);
        let present = generation == self.generation;
        if generation.is_before(self.first) || !(present || generation.is_before(self.generation)) {
            return false;
        }
        self.known = true;
        let first = present && !self.acknowledged;
        self.acknowledged |= present;
        first
    }

    /// Returns true if the peer has acknowledged any generation of the present epoch: it knows
    /// where our sequence numbers begin, so data may be sent.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// Returns true if the peer has acknowledged the present generation.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// Returns the present generation.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation.0
    }

    /// Returns the present epoch.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The sequence number from which the table holds.
    #[must_use]
    pub fn from(&self) -> u32 {
        self.from.0
    }

    /// Returns the table.
    #[must_use]
    pub fn entries(&self) -> &[E] {
        &self.entries
    }
}

/// The kind of a table that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// One that is known, or older than the one that is known: to be ignored. It is acknowledged
    /// nevertheless, since the acknowledgement before may be lost.
    Stale,
    /// One that replaces what was known.
    Newer {
        /// The peer's sequence numbers have begun a new life; also said of the first table, since
        /// nobody knows which life anything before it belongs to.
        epoch_changed: bool,
    },
}

/// Their side: which table of the peer's we have.
///
/// While the peer's process lives, its generations grow, across epochs too. One that was started
/// again begins at the first generation, with another epoch and under keys of its own. Frames of
/// its predecessor may still arrive, under the keys from before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    latest: Option<Latest>,
}

#[derive(Clone, Copy, Debug)]
struct Latest {
    epoch: u32,
    generation: Sequence,
    /// The newest keys under which a table of this epoch came.
    keys: u64,
}

impl Heard {
    /// The state before any table has arrived.
    #[must_use]
    pub const fn new() -> Self {
        Self { latest: None }
    }

    /// A table arrived in a frame under the `keys`-th keys of the session: a number that grows with
    /// every handshake.
    pub fn accept(&mut self, generation: u32, epoch: u32, keys: u64) -> Verdict {
        let generation = Sequence(generation);
        let epoch_changed = match &mut self.latest {
            None => true,
            Some(latest) if latest.epoch == epoch => {
                latest.keys = latest.keys.max(keys);
                if !generation.is_after(latest.generation) {
                    return Verdict::Stale;
                }
                false
            }
            Some(latest) => {
                let restarted = keys > latest.keys;
                let went_on = keys == latest.keys && generation.is_after(latest.generation);
                if !restarted && !went_on {
                    return Verdict::Stale;
                }
                true
            }
        };
        let keys = self.latest.map_or(keys, |latest| latest.keys.max(keys));
        self.latest = Some(Latest { epoch, generation, keys });
        Verdict::Newer { epoch_changed }
    }

    /// Returns what to acknowledge after any table, stale or not: the generation that we have. None
    /// before the first. The acknowledgement has to go out under the keys that the table came
    /// under: under newer ones it could be read by a peer that was started again meanwhile, whose
    /// generations mean something else.
    #[must_use]
    pub fn generation(&self) -> Option<u32> {
        self.latest.map(|latest| latest.generation.0)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    const NEW: Verdict = Verdict::Newer { epoch_changed: false };
    const RESTART: Verdict = Verdict::Newer { epoch_changed: true };

    #[test]
    fn generations_wrap() {
        let mut heard = Heard::new();
        assert_eq!(heard.generation(), None);
        assert_eq!(heard.accept(u32::MAX, 7, 0), RESTART);
        assert_eq!(heard.accept(u32::MAX, 7, 0), Verdict::Stale);
        assert_eq!(heard.accept(0, 7, 0), NEW);
        assert_eq!(heard.accept(u32::MAX, 7, 0), Verdict::Stale);
        assert_eq!(heard.accept(1 << 31, 7, 0), Verdict::Stale, "the order is undefined");
        assert_eq!(heard.generation(), Some(0));
    }

    #[test]
    fn under_the_same_keys_epochs_follow_each_other_by_generation() {
        let mut heard = Heard::new();
        assert_eq!(heard.accept(1, 10, 0), RESTART);
        assert_eq!(heard.accept(5, 12, 0), RESTART);
        assert_eq!(heard.accept(3, 11, 0), Verdict::Stale, "late, and never heard of before");
        assert_eq!(heard.accept(2, 10, 0), Verdict::Stale);
        assert_eq!(heard.accept(6, 12, 0), NEW);
    }

    #[test]
    fn a_peer_that_was_started_again_begins_anew_under_its_own_keys() {
        let mut heard = Heard::new();
        assert_eq!(heard.accept(500, 10, 3), RESTART);
        assert_eq!(heard.accept(1, 20, 4), RESTART);
        assert_eq!(heard.accept(501, 10, 3), Verdict::Stale, "of its predecessor");
        assert_eq!(heard.accept(502, 11, 3), Verdict::Stale, "of its predecessor");
        assert_eq!(heard.accept(2, 20, 3), NEW, "it changed its keys meanwhile");
    }

    #[test]
    fn only_a_change_makes_a_generation() {
        let mut announcer = Announcer::new(1, 0);
        assert!(announcer.set(&[1, 2], 5));
        assert!(!announcer.set(&[1, 2], 6));
        assert_eq!((announcer.generation(), announcer.from()), (2, 5));
        assert!(announcer.set(&[2, 1], 7));
        assert_eq!((announcer.generation(), announcer.from()), (3, 7));
    }

    #[test]
    fn acknowledgements_count_for_their_epoch_only() {
        let mut announcer = Announcer::new(1, 0);
        announcer.set(&[1], 0);
        announcer.set(&[2], 0);
        assert!(!announcer.acknowledged(0) && !announcer.acknowledged(4), "never were");
        assert!(!announcer.is_known());
        assert!(!announcer.acknowledged(2), "an earlier one");
        assert!(announcer.is_known() && !announcer.is_acknowledged());
        assert!(announcer.acknowledged(3));
        assert!(!announcer.acknowledged(3), "again");
        assert!(announcer.is_acknowledged());
        announcer.restart(9, 0);
        assert!(!announcer.is_known() && !announcer.is_acknowledged());
        assert!(!announcer.acknowledged(3) && !announcer.is_known(), "of the epoch before");
        announcer.set(&[3], 0);
        assert!(!announcer.acknowledged(4));
        assert!(announcer.is_known());
    }

    #[test]
    fn repetitions_become_rare_when_nobody_answers() {
        let mut start = Instant::now();
        let mut announcer = Announcer::new(1, 0);
        announcer.set(&[1], 0);
        let ms = Duration::from_millis;
        for (rtt, expected) in [
            (Some(ms(1)), [20, 20, 20, 20, 20, 20, 40, 80, 160, 320, 640, 1000, 1000]),
            (Some(ms(100)), [150, 150, 150, 150, 150, 150, 300, 600, 1000, 1000, 1000, 1000, 1000]),
            (Some(ms(2000)), [3000; 13]),
            (None, [100, 100, 100, 100, 100, 100, 200, 400, 800, 1000, 1000, 1000, 1000]),
        ] {
            // By then the tables of the round before no longer use up the session's share.
            start += ms(1000);
            announcer.repeat();
            assert!(announcer.due(start, rtt));
            for millis in expected {
                announcer.sent(start);
                assert_eq!(announcer.next_due(rtt), Some(start + ms(millis)));
                assert!(!announcer.due(start + ms(millis - 1), rtt));
                assert!(announcer.due(start + ms(millis), rtt));
            }
        }
        assert!(announcer.acknowledged(2));
        assert!(announcer.next_due(None).is_none() && !announcer.due(start + ms(9999), None));
    }
}
