//! The lag of a path: how far it is from first-in-first-out, as the time by which its numbers
//! arrive late.
//!
//! The lag is not the largest time by which a number came late in the last seconds, but the
//! [`RANK`]-th largest. One packet held up for long (a retry of a radio link), or a replayed one,
//! would otherwise make every lost packet cost as much for the whole time it is remembered. The
//! price is that a few packets more are late while a lag is learnt.
//!
//! In the first moments of a TCP flow that price is high: a late packet ends slow start, or shows
//! the flow delays that are shorter than all later ones, and the flow takes seconds to recover. So
//! where the delays of a path are known to differ (a session measures them, `Lag::expect`), twice
//! that difference is assumed until the path's numbers have shown its lag.

use crate::sequence::Sequence;

/// Moments remembered.
const DEPTH: usize = 64;
/// The smallest time between two of them. 64 of these are 8 ms; with a lag known, the distance is a
/// sixteenth of it, so that the memory reaches back four times the lag.
const FINEST: u64 = 128_000;
/// The rank of the lag that is taken among the largest.
const RANK: usize = 4;
/// The shortest time for which a lag is remembered; the longest is twice that.
const MEMORY: u64 = 10_000_000_000;

/// No difference of delays up to this one is worth mentioning: it is the machine's.
const UNMENTIONED: u64 = 1_000_000;
/// The longest lag that is expected, whatever queues there were.
const MOST_EXPECTED: u64 = 50_000_000;
/// A path has shown that it is first-in-first-out by so many numbers in order,
const ENOUGH_IN_ORDER: u16 = 256;
/// what its lag is by so many that came late (with normally distributed delays, half as much again as
/// the fourth largest of 64 is exceeded by one in 400, of 1024 by one in 100,000),
const ENOUGH_LATE: u16 = 1024;
/// and that such are rare by so many in all.
const ENOUGH: u16 = 4096;

/// The times at which a path reached numbers, and by how much lower numbers arrived later. On a
/// first-in-first-out path nothing is recorded: recording begins when a number arrives late, and
/// ends when none has for long enough.
#[derive(Debug)]
#[repr(C)] // `recording` first, see `Path`
pub(in crate::reorder) struct Lag {
    recording: bool,
    /// The numbers that arrived late, and those that did not, while recording.
    late: u16,
    in_order: u16,
    /// The lag to be reckoned with before there are enough of both; 0: none.
    expected: u64,
    /// The next moment to be overwritten, and how many there are.
    next: u8,
    len: u8,
    /// The largest of the present period, in ascending order.
    largest: [u64; RANK],
    /// The lag of the period before.
    previous: u64,
    period_began: u64,
    /// Distance in time of the moments remembered.
    step: u64,
    last_moment: Option<u64>,
    last_late: u64,
    /// A circle of moments.
    moments: Box<[Moment; DEPTH]>,
}

/// A path's highest number was `number` from the time `at` on.
#[derive(Clone, Copy, Debug)]
struct Moment {
    number: Sequence,
    at: u64,
}

impl Lag {
    pub(in crate::reorder) fn new() -> Self {
        Self {
            recording: false,
            late: 0,
            in_order: 0,
            expected: 0,
            next: 0,
            len: 0,
            largest: [0; RANK],
            previous: 0,
            period_began: 0,
            step: FINEST,
            last_moment: None,
            last_late: 0,
            moments: Box::new([Moment { number: Sequence(0), at: 0 }; DEPTH]),
        }
    }

    /// Forgets everything.
    pub(in crate::reorder) fn reset(&mut self) {
        (self.largest, self.previous, self.period_began) = ([0; RANK], 0, 0);
        self.last_late = 0;
        (self.late, self.in_order) = (0, 0);
        self.stop();
        self.recording = self.expected > 0;
        self.set_step();
    }

    /// Delays on the path have differed by `jitter`.
    pub(in crate::reorder) fn expect(&mut self, jitter: u64) {
        self.expected = if jitter > UNMENTIONED { (2 * jitter).min(MOST_EXPECTED) } else { 0 };
        self.recording |= self.is_expecting();
        self.set_step();
    }

    /// True if the path is reckoned with what is expected of it, and not with what it has shown.
    fn is_expecting(&self) -> bool {
        let known = match self.late {
            0 => self.in_order >= ENOUGH_IN_ORDER,
            late => late >= ENOUGH_LATE || self.in_order >= ENOUGH,
        };
        self.expected > 0 && !known
    }

    fn stop(&mut self) {
        self.recording = false;
        (self.last_moment, self.next, self.len) = (None, 0, 0);
    }

    /// The path's highest number rose.
    #[inline]
    pub(super) fn advanced(&mut self, number: Sequence, now: u64) {
        if self.recording {
            self.record(number, now);
        }
    }

    fn record(&mut self, number: Sequence, now: u64) {
        self.in_order = self.in_order.saturating_add(1);
        if self.late == 0 && self.in_order >= ENOUGH_IN_ORDER {
            self.stop();
            return;
        }
        if self.last_moment.is_some_and(|last| now.saturating_sub(last) < self.step) {
            return;
        }
        self.last_moment = Some(now);
        self.moments[self.next as usize] = Moment { number, at: now };
        self.next = (self.next + 1) % DEPTH as u8;
        self.len = (self.len + 1).min(DEPTH as u8);
        if now.saturating_sub(self.last_late) >= 2 * MEMORY {
            self.stop();
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
        let passed = self.above(number, highest, highest_at);
        let late = now.saturating_sub(passed.at);
        self.begin_period(now);
        self.note(late.min(limit));
        self.recording = true;
        self.last_late = now;
        self.late = self.late.saturating_add(1);
        late
    }

    /// The lag that has to be reckoned with. 0 on a path that is first-in-first-out.
    #[inline]
    pub(in crate::reorder) fn value(&mut self, now: u64) -> u64 {
        if self.lag() != 0 {
            self.begin_period(now);
        }
        self.reckoned()
    }

    /// Returns what is added to other expectations of the path where its delays differ: 0 if they do not.
    pub(in crate::reorder) fn doubt(&mut self, now: u64) -> u64 {
        if self.expected > 0 { self.value(now) } else { 0 }
    }

    /// Returns the time at which the path passed `number` (which is below `highest`), and up to which number it had then
    /// come. Not before the true moment, and later by at most a sixteenth of the lag.
    pub(in crate::reorder) fn passed(
        &self,
        number: Sequence,
        highest: Sequence,
        highest_at: u64,
    ) -> (Sequence, u64) {
        let passed = self.above(number, highest, highest_at);
        (passed.number, passed.at)
    }

    /// The first moment remembered at which the path was above `number`.
    fn above(&self, number: Sequence, highest: Sequence, highest_at: u64) -> Moment {
        let mut above = Moment { number: highest, at: highest_at };
        for back in 1..=self.len {
            let moment = self.moments[(self.next as usize + DEPTH - back as usize) % DEPTH];
            if !moment.number.is_after(number) {
                break;
            }
            above = moment;
        }
        above
    }

    fn note(&mut self, late: u64) {
        let place = self.largest.partition_point(|&l| l < late);
        if place > 0 {
            self.largest.copy_within(1..place, 0);
            self.largest[place - 1] = late;
        }
        self.set_step();
    }

    fn set_step(&mut self) {
        self.step = (self.reckoned() / 16).max(FINEST);
    }

    /// The lag that the path has shown. If its delays are known to differ, half as much is added (the largest of few is soon exceeded), and the
    /// expected lag applies as long as it counts.
    fn reckoned(&self) -> u64 {
        let lag = self.lag();
        let doubted = if self.expected > 0 { lag + lag / 2 } else { lag };
        if self.is_expecting() { self.expected.max(doubted) } else { doubted }
    }

    fn lag(&self) -> u64 {
        self.largest[0].max(self.previous)
    }

    fn begin_period(&mut self, now: u64) {
        let elapsed = now.saturating_sub(self.period_began);
        if elapsed >= MEMORY {
            self.previous = if elapsed < 2 * MEMORY { self.largest[0] } else { 0 };
            self.largest = [0; RANK];
            self.period_began = now;
            self.set_step();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn steady(lag: &mut Lag, numbers: u32) {
        lag.recording = true;
        for i in 0..numbers {
            lag.advanced(Sequence(2 * i), u64::from(i) * MS / 4);
        }
    }

    /// Brings number 61, which was passed by 62 at 7.75 ms, so often.
    fn invert(lag: &mut Lag, now: u64, times: usize) {
        for _ in 0..times {
            lag.inverted(Sequence(61), Sequence(80), 10 * MS, now, 300 * MS);
        }
    }

    #[test]
    fn measures_how_late_numbers_are() {
        let mut lag = Lag::new();
        steady(&mut lag, 41);
        invert(&mut lag, 10 * MS, RANK - 1);
        assert_eq!(lag.value(10 * MS), 0);
        invert(&mut lag, 11 * MS, 1);
        assert_eq!(lag.value(11 * MS), 2_250_000);
        invert(&mut lag, 12 * MS, RANK - 1);
        assert_eq!(lag.value(12 * MS), 3_250_000);
    }

    #[test]
    fn a_few_outliers_change_nothing() {
        let mut lag = Lag::new();
        steady(&mut lag, 41);
        invert(&mut lag, 10 * MS, RANK);
        invert(&mut lag, 200 * MS, RANK - 1);
        assert_eq!(lag.value(200 * MS), 2_250_000);
    }

    #[test]
    fn a_pause_between_two_numbers_is_no_lag() {
        let mut lag = Lag::new();
        lag.recording = true;
        lag.advanced(Sequence(10), 0);
        lag.advanced(Sequence(14), 2000 * MS);
        for _ in 0..RANK {
            lag.inverted(Sequence(12), Sequence(14), 2000 * MS, 2001 * MS, 300 * MS);
        }
        assert_eq!(lag.value(2001 * MS), MS);
    }

    #[test]
    fn is_forgotten_after_the_memory() {
        let mut lag = Lag::new();
        steady(&mut lag, 41);
        invert(&mut lag, 10 * MS, RANK);
        assert!(lag.value(MEMORY - MS) > 0);
        assert!(lag.value(MEMORY + 5 * MS) > 0);
        assert_eq!(lag.value(3 * MEMORY), 0);
        assert!(lag.recording);
        lag.advanced(Sequence(90), 3 * MEMORY);
        assert!(!lag.recording && lag.len == 0);
    }

    #[test]
    fn what_is_expected_counts_until_enough_has_come() {
        let mut lag = Lag::new();
        lag.expect(3 * MS);
        assert_eq!(lag.value(0), 6 * MS);
        for i in 0..u32::from(ENOUGH_IN_ORDER) {
            assert_eq!(lag.value(0), 6 * MS);
            lag.advanced(Sequence(2 * i), u64::from(i) * MS / 4);
        }
        assert_eq!(lag.value(64 * MS), 0, "it is first-in-first-out");
        assert!(!lag.recording);

        lag.reset();
        assert_eq!(lag.value(0), 6 * MS, "a path that comes up begins anew");
        steady(&mut lag, 41);
        invert(&mut lag, 10 * MS, usize::from(ENOUGH_LATE) - 1);
        assert_eq!(lag.value(10 * MS), 6 * MS);
        invert(&mut lag, 10 * MS, 1);
        assert_eq!(lag.value(10 * MS), 2 * MS * 3 / 2);

        lag.expect(MS);
        assert_eq!(lag.value(10 * MS), 2 * MS, "the machine's jitter is not mentioned");
        lag.reset();
        lag.expect(1000 * MS);
        assert_eq!(lag.value(0), MOST_EXPECTED);
    }
}
