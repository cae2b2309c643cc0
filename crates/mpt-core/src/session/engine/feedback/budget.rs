//! The budget of the frames between probes: those by which senders learn what their paths carry. All connections of a daemon share it, so that a
//! thousand of them in use cost a bounded number of frames. If they want more, the intervals of all of them stretch by one factor; a report that
//! comes later costs nothing, since it is cumulative.

use std::time::{Duration, Instant};

use crate::session::bucket::Bucket;

/// The factor is found anew after this time.
const WINDOW: Duration = Duration::from_millis(100);
/// After so many windows without any frame the factor is forgotten.
const FORGOTTEN: u32 = 10;
/// Intervals stretch so far that this share of the budget is used: the rest is for connections that begin.
const USED: f64 = 0.95;
/// Frames that may leave at once are those of this part of a second: so many are kept back from the rate, so that no
/// second has more than the budget.
const BURST: u32 = 100;
/// A frame for which nothing is left waits for so long. Connections that want theirs at one time no longer do after that.
const LATER: Duration = Duration::from_millis(5);
/// No interval stretches by more.
const LONGEST: f64 = 1_000.0;

/// The budget, and by how much intervals stretch to stay within it.
#[derive(Debug)]
pub(crate) struct FrameBudget {
    per_second: u32,
    bucket: Bucket,
    began: Option<Instant>,
    /// Frames that would have been wanted since then if nothing stretched; one that is tried again counts again.
    wanted: f64,
    stretch: f64,
}

impl FrameBudget {
    pub(crate) const fn new(per_second: u32) -> Self {
        Self { per_second, bucket: Bucket::FULL, began: None, wanted: 0.0, stretch: 1.0 }
    }

    /// Sets the frames that may leave in a second.
    pub(crate) fn set(&mut self, per_second: u32) {
        self.per_second = per_second;
    }

    /// Takes a frame out of the budget, or says when to try again.
    pub(crate) fn take(&mut self, now: Instant) -> Result<(), Instant> {
        self.look(now);
        self.wanted += self.stretch;
        let burst = (self.per_second / BURST).max(1);
        let rate = self.per_second.saturating_sub(burst).max(1);
        let has_one = self.bucket.take(now, Duration::from_secs(1) / rate, burst);
        if has_one { Ok(()) } else { Err(now + LATER) }
    }

    /// Returns the time between two frames of one kind that are wanted each `interval`.
    pub(crate) fn stretched(&self, interval: Duration) -> Duration {
        interval.mul_f64(self.stretch)
    }

    fn look(&mut self, now: Instant) {
        let began = *self.began.get_or_insert(now);
        let passed = now.saturating_duration_since(began);
        if passed < WINDOW {
            return;
        }
        let affordable = USED * f64::from(self.per_second) * passed.as_secs_f64();
        let needed = (self.wanted / affordable.max(1.0)).clamp(1.0, LONGEST);
        // Half of what is new: frames that came together do so again.
        let forgotten = passed > WINDOW * FORGOTTEN;
        self.stretch = if forgotten { needed } else { (self.stretch + needed) / 2.0 };
        (self.began, self.wanted) = (Some(now), 0.0);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    /// Senders that each want a frame after their interval, for 6 s; what each of them has sent in the last 2 s, and the
    /// frames of the fullest second.
    fn sent(budget: u32, intervals: &[u64]) -> (Vec<u32>, usize) {
        let start = Instant::now();
        let mut budget = FrameBudget::new(budget);
        let mut due: Vec<u64> = (0..intervals.len() as u64).map(|it| it % 10_000).collect();
        let (mut counts, mut times) = (vec![0; intervals.len()], Vec::new());
        for micros in (0..6_000_000).step_by(250) {
            let now = start + Duration::from_micros(micros);
            for (sender, due) in due.iter_mut().enumerate().filter(|(_, due)| **due <= micros) {
                let interval = Duration::from_millis(intervals[sender]);
                if let Err(at) = budget.take(now) {
                    *due = (at - start).as_micros() as u64;
                    continue;
                }
                times.push(micros);
                counts[sender] += u32::from(micros >= 4_000_000);
                *due = micros + budget.stretched(interval).as_micros() as u64;
            }
        }
        let within =
            |from: &u64| times.iter().filter(|it| (*from..from + 1_000_000).contains(it)).count();
        let seconds = (0..=5_000_000).step_by(50_000).map(|from| within(&from));
        (counts, seconds.max().unwrap_or(0))
    }

    #[test]
    fn one_sender_is_not_slowed() {
        let (counts, _) = sent(20_000, &[10]);
        assert_eq!(counts, [200]);
    }

    #[test]
    fn a_thousand_senders_share_the_budget_evenly() {
        let intervals: Vec<u64> = [10, 50].repeat(500);
        let (counts, fullest) = sent(20_000, &intervals);
        assert!(fullest <= 20_000, "{fullest} in a second");
        assert!(
            counts.iter().sum::<u32>() > 32_000,
            "{} in two seconds",
            counts.iter().sum::<u32>()
        );
        // The senders want 60,000 in a second and get 20,000, so each gets a third of the number that it wants.
        for (count, interval) in counts.iter().zip(&intervals) {
            let expected = 2_000.0 / *interval as f64 / 3.0;
            let got = f64::from(*count);
            assert!(
                (0.75..=1.25).contains(&(got / expected)),
                "{got} of {expected}, each {interval} ms"
            );
        }
    }
}
