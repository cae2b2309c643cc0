//! By how much the delay of a path differs from one frame to the next.
//!
//! The variation tells jitter from a queue. Both spread the delays of some seconds, but a queue fills and empties steadily, while jitter is drawn
//! anew for each packet. So a delay is compared with the mean of those before and after it. The median of the results is taken, so that a frame that
//! a radio link sent three times counts for nothing.

/// Delays that count: some seconds of probes.
const LATEST: u8 = 32;
/// So many are needed: a frame that came late makes itself and both neighbours differ.
const ENOUGH: usize = 7;

/// The distance of the latest delays from the mean of their neighbours, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::session) struct Variation {
    deviations: [u32; LATEST as usize],
    /// The next to be overwritten, and how many there are.
    next: u8,
    len: u8,
    /// The last delay, and by how much it was above the one before.
    last: Option<u32>,
    growth: Option<i32>,
    /// The median of the deviations; `None` while there are too few.
    median: Option<u32>,
}

impl Variation {
    pub(in crate::session) const fn new() -> Self {
        let deviations = [0; LATEST as usize];
        Self { deviations, next: 0, len: 0, last: None, growth: None, median: None }
    }

    /// The next delay, plus anything that is always the same; modulo 2^32.
    pub(in crate::session) fn record(&mut self, delay: u32) {
        let Some(last) = self.last.replace(delay) else { return };
        let growth = delay.wrapping_sub(last).cast_signed();
        let Some(before) = self.growth.replace(growth) else { return };
        if let Some(place) = self.deviations.get_mut(usize::from(self.next)) {
            *place = growth.abs_diff(before) / 2;
        }
        self.next = (self.next + 1) % LATEST;
        self.len = (self.len + 1).min(LATEST);
        self.median = self.find_median();
    }

    /// Returns the median of the deviations; `None` while there are too few.
    pub(in crate::session) const fn median(&self) -> Option<u32> {
        self.median
    }

    fn find_median(&self) -> Option<u32> {
        let len = usize::from(self.len);
        if len < ENOUGH {
            return None;
        }
        let mut deviations = self.deviations;
        let known = deviations.get_mut(..len)?;
        Some(*known.select_nth_unstable((len - 1) / 2).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median(delays: &[u32]) -> Option<u32> {
        let mut variation = Variation::new();
        delays.iter().for_each(|&delay| variation.record(delay));
        variation.median()
    }

    #[test]
    fn the_median_of_the_latest_deviations_counts() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[100, 300, 100, 300, 100, 300, 100, 300]), None, "too few");
        assert_eq!(median(&[100, 300, 100, 300, 100, 300, 100, 300, 100]), Some(200));
        let clock = u32::MAX - 150;
        let delays: Vec<u32> = (0..9).map(|n| clock.wrapping_add(200 * (n % 2))).collect();
        assert_eq!(median(&delays), Some(200), "across 2^32");
        let delays: Vec<u32> = (0..90).map(|n| if n < 50 { 1_000 * (n % 2) } else { 7 }).collect();
        assert_eq!(median(&delays), Some(0), "what was before is forgotten");
    }

    #[test]
    fn one_frame_that_came_late_is_none() {
        for late in 0..9 {
            let delays: Vec<u32> = (0..9).map(|n| if n == late { 80_000 } else { 100 }).collect();
            assert_eq!(median(&delays), Some(0), "frame {late}");
        }
    }

    #[test]
    fn a_queue_that_fills_steadily_is_none() {
        let delays: Vec<u32> = (0..100).map(|n| 20_000 * (n % 50)).collect();
        assert_eq!(median(&delays), Some(0));
    }
}
