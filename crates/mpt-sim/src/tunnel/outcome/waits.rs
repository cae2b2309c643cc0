//! Waiting times of packets in the receive window.

use std::time::Duration;

/// Resolution of the waiting times.
const RESOLUTION: Duration = Duration::from_micros(100);
/// Largest waiting time that is recorded; longer ones count as this long, which bounds memory to a few megabytes.
const LONGEST: Duration = Duration::from_secs(60);

/// A histogram of waiting times.
#[derive(Clone, Debug, Default)]
pub(in crate::tunnel) struct Waits {
    /// Number of packets that did not wait at all.
    none: u64,
    /// Number of packets by whole [`RESOLUTION`]s of waiting, from (0, 1] on.
    counts: Vec<u64>,
}

impl Waits {
    pub(in crate::tunnel) fn add(&mut self, wait: Duration) {
        if wait.is_zero() {
            self.none += 1;
            return;
        }
        let index = (wait.min(LONGEST).as_nanos() - 1) / RESOLUTION.as_nanos();
        let index = index as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// Returns what the share `quantile` of the packets did not exceed, to the tenth of a millisecond above. 0 without packets.
    pub(super) fn quantile(&self, quantile: f64) -> Duration {
        let all = self.none + self.counts.iter().sum::<u64>();
        let rank = libm::ceil(all as f64 * quantile) as u64;
        let mut below = self.none;
        let mut steps = 0;
        for &count in &self.counts {
            if below >= rank {
                break;
            }
            below += count;
            steps += 1;
        }
        RESOLUTION * steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_a_sorted_list_rounded_up() {
        let mut waits = Waits::default();
        assert_eq!(waits.quantile(0.99), Duration::ZERO);
        for microseconds in [0, 0, 0, 0, 0, 1, 100, 101, 49_999, 50_000] {
            waits.add(Duration::from_micros(microseconds));
        }
        for (quantile, tenths) in
            [(0.5, 0), (0.6, 1), (0.7, 1), (0.8, 2), (0.9, 500), (0.99, 500), (1.0, 500)]
        {
            assert_eq!(waits.quantile(quantile), RESOLUTION * tenths, "{quantile}");
        }
    }

    #[test]
    fn what_waits_for_ever_takes_no_more_memory() {
        let mut waits = Waits::default();
        waits.add(Duration::MAX);
        assert_eq!(waits.quantile(1.0), LONGEST);
    }
}
