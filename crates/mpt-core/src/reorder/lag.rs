//! How far a path is from being first-in-first-out: the time by which its numbers come late.

use super::NEVER;
use crate::sequence::Sequence;

/// Moments remembered.
const DEPTH: usize = 64;
/// The smallest time between two of them. 64 of these are 8 ms; with a lag known, the distance is a
/// sixteenth of it, so that the memory reaches back four times the lag.
const FINEST: u64 = 128_000;
/// How long a lag is remembered at least, and at most twice that.
const MEMORY: u64 = 10_000_000_000;

/// When a path reached which number, and by how much numbers below came later than that.
#[derive(Debug)]
pub(super) struct Lag {
    /// The largest lag of the present period, and of the one before.
    recent: u64,
    previous: u64,
    period_began: u64,
    /// Distance in time of the moments remembered.
    step: u64,
    last_moment: u64,
    /// A circle of moments, the next one to be overwritten, and how many there are.
    moments: Box<[Moment; DEPTH]>,
    next: u8,
    len: u8,
}

/// A path's highest number was `number` from the time `at` on.
#[derive(Clone, Copy, Debug)]
struct Moment {
    number: Sequence,
    at: u64,
}

impl Lag {
    pub(super) fn new() -> Self {
        Self {
            recent: 0,
            previous: 0,
            period_began: 0,
            step: FINEST,
            last_moment: NEVER,
            moments: Box::new([Moment { number: Sequence(0), at: 0 }; DEPTH]),
            next: 0,
            len: 0,
        }
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        (self.recent, self.previous, self.period_began) = (0, 0, 0);
        (self.step, self.last_moment, self.next, self.len) = (FINEST, NEVER, 0, 0);
    }

    /// The path's highest number rose.
    #[inline]
    pub(super) fn advanced(&mut self, number: Sequence, now: u64) {
        if self.last_moment == NEVER || now.saturating_sub(self.last_moment) >= self.step {
            self.last_moment = now;
            self.moments[self.next as usize] = Moment { number, at: now };
            self.next = (self.next + 1) % DEPTH as u8;
            self.len = (self.len + 1).min(DEPTH as u8);
        }
    }

    /// The path brought `number` although it is at `highest` since `highest_at`. Returns the time
    /// by which it is late.
    pub(super) fn inverted(
        &mut self,
        number: Sequence,
        highest: Sequence,
        highest_at: u64,
        now: u64,
        limit: u64,
    ) -> u64 {
        let (before, passed) = self.around(number, highest, highest_at);
        let late = now.saturating_sub(passed.at);
        // The path passed the number somewhere between the two moments. Most of the error is made
        // good, but never much more than the lag seen: the path may have been idle in between.
        let error = before.map_or(0, |m| passed.at.saturating_sub(m.at));
        let lag = (late + error.min(late / 8)).min(limit);
        self.begin_period(now);
        self.recent = self.recent.max(lag);
        self.step = (self.recent.max(self.previous) / 16).max(FINEST);
        late
    }

    /// The lag that has to be reckoned with. 0 on a path that is first-in-first-out.
    #[inline]
    pub(super) fn value(&mut self, now: u64) -> u64 {
        if self.recent | self.previous != 0 {
            self.begin_period(now);
        }
        self.recent.max(self.previous)
    }

    /// When the path passed `number` (which is below `highest`), and up to which number it had then
    /// come. Not before the true moment, and later by at most a sixteenth of the lag.
    pub(super) fn passed(
        &self,
        number: Sequence,
        highest: Sequence,
        highest_at: u64,
    ) -> (Sequence, u64) {
        let (_, passed) = self.around(number, highest, highest_at);
        (passed.number, passed.at)
    }

    /// The last moment at which the path was at `number` or below, and the first at which it was
    /// above.
    fn around(
        &self,
        number: Sequence,
        highest: Sequence,
        highest_at: u64,
    ) -> (Option<Moment>, Moment) {
        let mut above = Moment { number: highest, at: highest_at };
        for back in 1..=self.len {
            let moment = self.moments[(self.next as usize + DEPTH - back as usize) % DEPTH];
            if !moment.number.is_after(number) {
                return (Some(moment), above);
            }
            above = moment;
        }
        (None, above)
    }

    fn begin_period(&mut self, now: u64) {
        let elapsed = now.saturating_sub(self.period_began);
        if elapsed >= MEMORY {
            self.previous = if elapsed < 2 * MEMORY { self.recent } else { 0 };
            self.recent = 0;
            self.period_began = now;
            self.step = (self.previous / 16).max(FINEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn steady(lag: &mut Lag, numbers: u32) {
        for i in 0..numbers {
            lag.advanced(Sequence(2 * i), u64::from(i) * MS / 4);
        }
    }

    #[test]
    fn measures_how_late_a_number_is() {
        let mut lag = Lag::new();
        steady(&mut lag, 41);
        assert_eq!(lag.value(10 * MS), 0);
        // 61 was passed by 62 at 7.75 ms.
        let late = lag.inverted(Sequence(61), Sequence(80), 10 * MS, 10 * MS, 300 * MS);
        assert_eq!(late, 2_250_000);
        assert!((2_250_000..=2_531_250).contains(&lag.value(10 * MS)));
    }

    #[test]
    fn a_pause_between_two_numbers_is_no_lag() {
        let mut lag = Lag::new();
        lag.advanced(Sequence(10), 0);
        lag.advanced(Sequence(14), 2000 * MS);
        lag.inverted(Sequence(12), Sequence(14), 2000 * MS, 2001 * MS, 300 * MS);
        assert!(lag.value(2001 * MS) <= MS + MS / 8);
    }

    #[test]
    fn is_forgotten_after_the_memory() {
        let mut lag = Lag::new();
        steady(&mut lag, 41);
        lag.inverted(Sequence(61), Sequence(80), 10 * MS, 10 * MS, 300 * MS);
        assert!(lag.value(MEMORY - MS) > 0);
        assert!(lag.value(MEMORY + 5 * MS) > 0);
        assert_eq!(lag.value(3 * MEMORY), 0);
    }
}
