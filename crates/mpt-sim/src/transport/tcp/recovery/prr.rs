//! Proportional rate reduction (RFC 6937): in recovery, sending follows delivery, so that the window shrinks over a round-trip time, and lost data is
//! not repaired faster than the network takes it.

/// The state of one recovery, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    /// Segments outstanding when recovery began (RecoverFS).
    flight: u64,
    /// Segments delivered since then (prr_delivered).
    delivered: u64,
    /// Segments sent since then (prr_out).
    sent: u64,
    /// Segments that may be sent now (sndcnt).
    budget: u64,
}

impl Prr {
    pub(crate) fn new(flight: u64) -> Self {
        Self { flight: flight.max(1), delivered: 0, sent: 0, budget: 0 }
    }

    /// Handles an acknowledgement of `delivered` more segments. `threshold` is the window that recovery ends with. `safe` is true if the
    /// acknowledgement was cumulative, and reported no more losses (section 3.1, the slow-start bound; otherwise the conservative one).
    pub(crate) fn acknowledged(
        &mut self,
        delivered: u64,
        in_flight: u64,
        threshold: u64,
        safe: bool,
    ) {
        self.delivered += delivered;
        let conserving = self.delivered.saturating_sub(self.sent);
        self.budget = if in_flight > threshold {
            (self.delivered * threshold).div_ceil(self.flight).saturating_sub(self.sent)
        } else {
            let bound = if safe { conserving.max(delivered) + 1 } else { conserving };
            (threshold - in_flight).min(bound)
        };
        if self.sent == 0 {
            // The fast retransmission.
            self.budget = self.budget.max(1);
        }
    }

    /// True if a segment may be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.budget > 0
    }

    pub(crate) fn sent(&mut self) {
        self.sent += 1;
        self.budget = self.budget.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handles acknowledgements of one segment each. Returns the segments sent after each: all that may be.
    fn sent(prr: &mut Prr, acks: usize, in_flight: &mut u64, threshold: u64, safe: bool) -> u64 {
        let mut sent = 0;
        for _ in 0..acks {
            *in_flight -= 1;
            prr.acknowledged(1, *in_flight, threshold, safe);
            while prr.has_room() {
                prr.sent();
                sent += 1;
                *in_flight += 1;
            }
        }
        sent
    }

    #[test]
    fn the_window_shrinks_within_a_round_trip() {
        let (mut prr, mut in_flight) = (Prr::new(100), 99);
        assert_eq!(sent(&mut prr, 90, &mut in_flight, 70, false), 63, "7 for 10");
        assert_eq!(in_flight, 72);
    }

    #[test]
    fn after_many_losses_it_conserves_packets_or_starts_slowly() {
        let (mut prr, mut in_flight) = (Prr::new(100), 20);
        assert_eq!(sent(&mut prr, 10, &mut in_flight, 70, false), 10, "one for one");
        assert_eq!(sent(&mut prr, 10, &mut in_flight, 70, true), 20, "two for one");
        assert_eq!(sent(&mut prr, 60, &mut in_flight, 70, true), 100, "up to the threshold");
        assert_eq!(in_flight, 70);
    }
}
