//! The data that a receiver has got, over time.

use std::time::Duration;

use crate::traffic::Moment;

/// Length of a bin.
pub(super) const BIN: Duration = Duration::from_millis(10);

/// The data that arrived, in order and complete, as the application saw it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arrived {
    /// The time at which the first bin begins: before the connection was set up.
    pub(crate) start: Moment,
    /// Bytes in each bin of [`BIN`].
    pub(crate) bins: Vec<u32>,
    /// The time at which it ended, since the start.
    pub(crate) end: Duration,
}

impl Arrived {
    /// Returns the number of all bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bins.iter().map(|&bytes| u64::from(bytes)).sum()
    }

    /// Returns the bytes in each interval of `step`, which is a number of bins, from the start until the end.
    pub(crate) fn in_steps(&self, step: Duration) -> Vec<f64> {
        let together = (step.as_nanos() / BIN.as_nanos()).max(1) as usize;
        let count = (self.end.as_secs_f64() / step.as_secs_f64() + 0.5) as usize;
        let chunks = self.bins.chunks(together);
        let sums = chunks.map(|bins| bins.iter().map(|&bytes| f64::from(bytes)).sum());
        let mut steps: Vec<f64> = sums.collect();
        steps.resize(count, 0.0);
        steps
    }

    /// Returns the mean in bit/s from `start` until `end`, in whole bins.
    pub(crate) fn rate(&self, start: Moment, end: Moment) -> f64 {
        let bins = self.between(start, end);
        bits(bins) / (bins.len() as f64 * BIN.as_secs_f64())
    }

    /// The longest time below `rate` (bit/s) from `start` until `end`, in milliseconds.
    pub(crate) fn longest_below(&self, rate: f64, start: Moment, end: Moment) -> f64 {
        let (mut longest, mut present) = (0_u32, 0);
        for &bytes in self.between(start, end) {
            present = if bits(&[bytes]) < rate * BIN.as_secs_f64() { present + 1 } else { 0 };
            longest = longest.max(present);
        }
        f64::from(longest) * BIN.as_secs_f64() * 1e3
    }

    /// The time from `start` until the mean over `window` is at least `rate` (bit/s) for the first time, in milliseconds: until the
    /// beginning of that window. Infinite when it never is.
    pub(crate) fn reached(&self, rate: f64, start: Moment, window: Duration) -> f64 {
        let length = (window.as_millis() / BIN.as_millis()) as usize;
        let bins = self.between(start, Moment(u64::MAX));
        let position = bins
            .windows(length.max(1))
            .position(|window| bits(window) >= rate * window.len() as f64 * BIN.as_secs_f64());
        position.map_or(f64::INFINITY, |bin| bin as f64 * BIN.as_secs_f64() * 1e3)
    }

    /// Returns the time as [`Self::reached`] does, but not before the longest stall (below half of `rate`) until `end` is over: what was on its way at `start` still
    /// arrives.
    pub(crate) fn recovered(&self, rate: f64, start: Moment, end: Moment, window: Duration) -> f64 {
        let (mut longest, mut present, mut over) = (0, 0, 0_u32);
        for (bin, &bytes) in (1..).zip(self.between(start, end)) {
            present = if bits(&[bytes]) < rate / 2.0 * BIN.as_secs_f64() { present + 1 } else { 0 };
            if present > longest {
                (longest, over) = (present, bin);
            }
        }
        let before = BIN * over;
        before.as_secs_f64() * 1e3 + self.reached(rate, start.after(before), window)
    }

    /// Returns the bins that begin from `start` on and end before `end`.
    fn between(&self, start: Moment, end: Moment) -> &[u32] {
        let bin = BIN.as_nanos() as u64;
        let first = start.0.saturating_sub(self.start.0).div_ceil(bin) as usize;
        let last = (end.0.saturating_sub(self.start.0) / bin) as usize;
        let last = last.min(self.bins.len());
        &self.bins[first.min(last)..last]
    }
}

fn bits(bins: &[u32]) -> f64 {
    bins.iter().map(|&bytes| f64::from(bytes) * 8.0).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the arrivals of these rates in Mbit/s: bins of 1250 bytes are 1 Mbit/s.
    fn goodput(megabits: &[u32]) -> Arrived {
        let bins: Vec<u32> = megabits.iter().map(|rate| rate * 1250).collect();
        let end = BIN * u32::try_from(bins.len()).unwrap();
        Arrived { start: Moment(1_000_000_000), bins, end }
    }

    fn at(millis: u64) -> Moment {
        Moment(1_000_000_000 + millis * 1_000_000)
    }

    #[test]
    fn means_are_over_whole_bins() {
        let goodput = goodput(&[10, 20, 30, 40]);
        assert_eq!(goodput.rate(at(0), at(40)), 25e6);
        assert_eq!(goodput.rate(at(1), at(39)), 25e6, "second and third");
        assert_eq!(goodput.rate(at(20), at(1000)), 35e6);
    }

    #[test]
    fn bins_are_summed_until_the_end() {
        let goodput = Arrived { end: Duration::from_millis(61), ..goodput(&[1, 2, 3, 4]) };
        assert_eq!(goodput.bytes(), 12_500);
        assert_eq!(goodput.in_steps(2 * BIN), [3750.0, 8750.0, 0.0]);
    }

    #[test]
    fn stalls_and_recovery() {
        let goodput = goodput(&[100, 100, 0, 40, 4, 100, 30, 100, 100]);
        assert_eq!(goodput.longest_below(50e6, at(0), at(90)), 30.0);
        assert_eq!(goodput.longest_below(10e6, at(0), at(90)), 10.0);
        assert_eq!(goodput.longest_below(1e6, at(50), at(90)), 0.0);
        assert_eq!(goodput.reached(90e6, at(20), Duration::from_millis(10)), 30.0);
        assert_eq!(goodput.reached(90e6, at(20), Duration::from_millis(20)), 50.0);
        assert!(goodput.reached(200e6, at(0), Duration::from_millis(20)).is_infinite());
        assert_eq!(goodput.recovered(90e6, at(0), at(90), Duration::from_millis(10)), 50.0);
        assert_eq!(goodput.recovered(90e6, at(70), at(90), Duration::from_millis(10)), 0.0);
    }
}
