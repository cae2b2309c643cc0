//! The grace period of a path: by how much its numbers arrive after higher ones of other paths.
//!
//! The numbers alone prove a loss only when the path that lost one brings the next. At a low rate
//! that takes long, and a TCP flow whose window is full sends nothing until it is over: it would
//! wait for the maximum delay. But a path is as far behind the others as its delay is longer, which
//! changes slowly, so a number that is overdue by more than a quarter as much again will not come.

/// The numbers that a path must have delivered before its delay is relied upon.
const ENOUGH: u8 = 4;
/// The margin beyond five quarters of the largest delay behind the others, for packets read in
/// batches and a late thread. A TCP flow over short links whose window is full waits for it as
/// well: with 2 ms in its place, 5 % of loss on the slow path cost a tenth of the goodput.
const MARGIN: u64 = 500_000;
/// The shortest time for which a delay is remembered while packets wait; the longest is twice that.
const MEMORY: u64 = 10_000_000_000;

/// The delay of a path's numbers behind those of other paths.
#[derive(Debug)]
pub(in crate::reorder) struct Patience {
    /// The largest of this period, and of the one before.
    largest: [u64; 2],
    period_began: u64,
    samples: u8,
}

impl Patience {
    pub(in crate::reorder) const fn new() -> Self {
        Self { largest: [0; 2], period_began: 0, samples: 0 }
    }

    /// The path brought the number due that long after a higher one had come.
    pub(in crate::reorder) fn note(&mut self, now: u64, behind: u64) {
        // A sample from before an idle time is better than none, so a period ends only when the next sample comes.
        if now.saturating_sub(self.period_began) >= MEMORY {
            self.period_began = now;
            self.largest = [0, self.largest[0]];
        }
        self.largest[0] = self.largest[0].max(behind);
        self.samples = self.samples.saturating_add(1);
    }

    /// The path brought a number that had been given up. It was later than anything known, how much
    /// is not: the wait is doubled.
    pub(in crate::reorder) fn too_short(&mut self, now: u64, limit: u64) {
        if let Some(wait) = self.wait() {
            self.note(now, (2 * wait).min(limit));
        }
    }

    /// Returns how long after a higher number has come the path may still bring a lower one; `None` while
    /// that is not known.
    pub(in crate::reorder) fn wait(&self) -> Option<u64> {
        let largest = self.largest[0].max(self.largest[1]);
        (self.samples >= ENOUGH).then(|| largest + largest / 4 + MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn known(behind: u64) -> Patience {
        let mut patience = Patience::new();
        for _ in 0..ENOUGH {
            assert_eq!(patience.wait(), None);
            patience.note(0, behind);
        }
        patience
    }

    #[test]
    fn is_unknown_until_there_are_enough_samples() {
        assert_eq!(known(0).wait(), Some(MARGIN));
        assert_eq!(known(40 * MS).wait(), Some(50 * MS + MARGIN));
    }

    #[test]
    fn follows_a_shorter_delay_within_two_periods_of_traffic() {
        let mut patience = known(40 * MS);
        patience.note(MEMORY, 4 * MS);
        assert_eq!(patience.wait(), Some(50 * MS + MARGIN));
        patience.note(2 * MEMORY, 4 * MS);
        assert_eq!(patience.wait(), Some(5 * MS + MARGIN));
    }

    #[test]
    fn doubles_when_it_was_too_short() {
        let mut patience = known(0);
        patience.too_short(0, 300 * MS);
        assert_eq!(patience.wait(), Some(5 * MARGIN / 2 + MARGIN));
        for _ in 0..20 {
            patience.too_short(0, 300 * MS);
        }
        assert_eq!(patience.wait(), Some(375 * MS + MARGIN));
    }
}
