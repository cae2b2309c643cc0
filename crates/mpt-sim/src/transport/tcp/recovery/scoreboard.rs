//! The scoreboard of a subflow: its outstanding segments, and their states (RFC 6675).

use std::collections::VecDeque;

use crate::kernel::time::Time;
use crate::transport::ranges::Ranges;

/// A segment that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) data_sequence: u64,
    /// The time at which it was sent last.
    pub(crate) at: Time,
    /// Number of segments that the subflow had sent before.
    pub(crate) transmission: u64,
    pub(crate) sacked: bool,
    /// True if it is held for lost. Then it is not in the network, unless it has been retransmitted since.
    pub(crate) lost: bool,
    /// True if it has been retransmitted since it was held for lost.
    pub(crate) in_flight_again: bool,
    /// True if it has ever been retransmitted.
    pub(crate) retransmitted: bool,
}

/// A segment whose delivery an acknowledgement reported for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub(crate) sequence: u64,
    pub(crate) sent: Sent,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// The first number that is not acknowledged.
    first: u64,
    sent: VecDeque<Sent>,
    sacked: Ranges,
    /// Segments held for lost and not retransmitted since.
    lost: u64,
    /// The number below which everything has been examined that the segments above can prove lost.
    looked_at: u64,
    /// The number below which nothing is lost and waits for its retransmission.
    hint: u64,
    /// Duplicates since `first` moved, where there are no blocks. Each is a segment that has left the network.
    duplicates: u64,
}

impl Scoreboard {
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    pub(crate) fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Returns the number of segments sent and not acknowledged: FlightSize (RFC 5681).
    pub(crate) fn outstanding(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Returns the estimate of the segments in the network: pipe (RFC 6675).
    pub(crate) fn in_flight(&self) -> u64 {
        (self.sent.len() as u64).saturating_sub(self.sacked() + self.lost)
    }

    /// Returns the number of segments that have been received above the first missing one.
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked.count() + self.duplicates
    }

    /// Returns the number of segments that are held for lost and not retransmitted since.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    pub(crate) fn get(&self, sequence: u64) -> Option<&Sent> {
        self.sent.get(sequence.checked_sub(self.first)? as usize)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Sent)> {
        (self.first..).zip(&self.sent)
    }

    pub(crate) fn push(&mut self, sent: Sent) {
        self.sent.push_back(sent);
    }

    /// Handles a cumulative acknowledgement; calls `delivered` with the segments that were not known to have come.
    pub(crate) fn acknowledge(&mut self, next: u64, mut delivered: impl FnMut(Delivered)) -> u64 {
        let next = next.min(self.next());
        let acknowledged = next.saturating_sub(self.first);
        for _ in 0..acknowledged {
            let Some(sent) = self.sent.pop_front() else { break };
            if sent.lost && !sent.in_flight_again {
                self.lost -= 1;
            }
            if !sent.sacked {
                delivered(Delivered { sequence: self.first, sent });
            }
            self.first += 1;
        }
        self.sacked.remove_below(self.first);
        self.looked_at = self.looked_at.max(self.first);
        self.hint = self.hint.max(self.first);
        if acknowledged > 0 {
            // RFC 6582 cannot tell which of them it was: one was the missing one, the others had come.
            self.duplicates = self.duplicates.saturating_sub(acknowledged - 1);
            self.duplicates = self.duplicates.min(self.outstanding());
        }
        acknowledged
    }

    /// Handles a block; calls `delivered` like [`Self::acknowledge`].
    pub(crate) fn sack(&mut self, from: u64, to: u64, mut delivered: impl FnMut(Delivered)) {
        let (from, to) = (from.max(self.first), to.min(self.next()));
        let (first, sent, lost) = (self.first, &mut self.sent, &mut self.lost);
        self.sacked.insert(from, to, |from, to| {
            for sequence in from..to {
                let Some(sent) = sent.get_mut((sequence - first) as usize) else { break };
                if sent.lost && !sent.in_flight_again {
                    *lost -= 1;
                }
                sent.sacked = true;
                delivered(Delivered { sequence, sent: *sent });
                (sent.lost, sent.in_flight_again) = (false, false);
            }
        });
    }

    /// Counts a duplicate, where there are no blocks.
    pub(crate) fn count_duplicate(&mut self) {
        self.duplicates = (self.duplicates + 1).min(self.outstanding().saturating_sub(1));
    }

    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    pub(crate) fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Marks segments as lost if `threshold` segments above have been received (RFC 6675: IsLost).
    pub(crate) fn find_lost(&mut self, threshold: u64) {
        let Some(limit) = self.sacked.highest(threshold) else { return };
        for sequence in self.looked_at..limit {
            self.lose(sequence);
        }
        self.looked_at = self.looked_at.max(limit);
    }

    /// Marks a segment as lost, again if it was retransmitted.
    pub(crate) fn lose(&mut self, sequence: u64) {
        let Some(index) = sequence.checked_sub(self.first) else { return };
        let Some(sent) = self.sent.get_mut(index as usize) else { return };
        if sent.sacked || (sent.lost && !sent.in_flight_again) {
            return;
        }
        (sent.lost, sent.in_flight_again) = (true, false);
        self.lost += 1;
        self.hint = self.hint.min(sequence);
    }

    /// Marks everything as lost that is not known to have come.
    pub(crate) fn lose_all(&mut self) {
        self.duplicates = 0;
        for sequence in self.first..self.next() {
            self.lose(sequence);
        }
    }

    /// Marks all segments as not lost.
    pub(crate) fn lose_none(&mut self) {
        for sent in &mut self.sent {
            (sent.lost, sent.in_flight_again) = (false, false);
        }
        self.lost = 0;
        self.looked_at = self.first;
    }

    /// Returns the first segment that is lost and not yet retransmitted.
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        if self.lost == 0 {
            return None;
        }
        while let Some(sent) = self.get(self.hint) {
            if sent.lost && !sent.in_flight_again {
                return Some(self.hint);
            }
            self.hint += 1;
        }
        None
    }

    /// Notes that a segment is sent again.
    pub(crate) fn retransmit(
        &mut self,
        sequence: u64,
        now: Time,
        transmission: u64,
    ) -> Option<u64> {
        let sent = self.sent.get_mut(sequence.checked_sub(self.first)? as usize)?;
        if sent.lost && !sent.in_flight_again {
            self.lost -= 1;
            sent.in_flight_again = true;
        }
        (sent.at, sent.transmission, sent.retransmitted) = (now, transmission, true);
        Some(sent.data_sequence)
    }
}
