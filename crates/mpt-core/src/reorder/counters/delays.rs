//! A histogram of waiting times, with a logarithmic scale and a fixed size.

use std::time::Duration;

/// Buckets per power of two.
const STEPS: u32 = 4;
/// Values below this power of two (in nanoseconds) share the first buckets: about a microsecond.
const FINEST: u32 = 10;
/// Values from this power of two on share the last bucket: about 69 seconds.
const COARSEST: u32 = 36;
const BUCKETS: usize = ((COARSEST - FINEST) * STEPS + 2) as usize;

/// A histogram of waiting times, from 1 microsecond to a minute, four buckets per octave: a bucket
/// is at most a quarter wider than its lower edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS] }
    }
}

impl Histogram {
    /// Counts one packet that waited for `nanos` nanoseconds.
    #[inline]
    pub(in crate::reorder) fn record(&mut self, nanos: u64) {
        self.counts[bucket(nanos)] += 1;
    }

    /// Counts packets that did not wait.
    pub(in crate::reorder) fn record_immediate(&mut self, packets: u64) {
        self.counts[0] += packets;
    }

    /// Returns how many packets were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time that the share `quantile` (0 to 1) of the packets did not exceed: the upper edge of
    /// the bucket it lies in. Zero when nothing was counted.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Duration {
        let rank = (self.count() as f64 * quantile.clamp(0.0, 1.0)).ceil() as u64;
        if rank <= self.counts[0] {
            return Duration::ZERO;
        }
        let mut below = 0;
        for (_, upper, count) in self.buckets() {
            below += count;
            if below >= rank {
                return upper;
            }
        }
        Duration::ZERO
    }

    /// All buckets in ascending order: lower edge (inclusive), upper edge (exclusive; the last
    /// bucket has none, `Duration::MAX`), packets. The first one holds those that waited less than
    /// a microsecond, in practice those that did not wait.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, Duration, u64)> {
        self.counts.iter().enumerate().map(|(i, &count)| {
            let upper =
                if i + 1 < BUCKETS { Duration::from_nanos(edge(i + 1)) } else { Duration::MAX };
            (Duration::from_nanos(edge(i)), upper, count)
        })
    }
}

/// The bucket for a time: octave and the two bits behind the leading one.
#[inline]
fn bucket(nanos: u64) -> usize {
    if nanos < 1 << FINEST {
        return 0;
    }
    let octave = nanos.ilog2();
    let step = (nanos >> (octave - STEPS.ilog2())) as u32 & (STEPS - 1);
    (((octave - FINEST) * STEPS + step + 1) as usize).min(BUCKETS - 1)
}

/// The lower edge of a bucket.
fn edge(bucket: usize) -> u64 {
    let Some(index) = (bucket as u32).checked_sub(1) else { return 0 };
    let octave = FINEST + index / STEPS;
    (1 << octave) + u64::from(index % STEPS) * (1 << (octave - STEPS.ilog2()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_between_the_edges_of_its_bucket() {
        let mut last = 0;
        for shift in 0..36 {
            for nanos in [1u64 << shift, (1 << shift) + (1 << shift) / 3, (2 << shift) - 1] {
                let b = bucket(nanos);
                assert!(edge(b) <= nanos && nanos < edge(b + 1), "{nanos} in bucket {b}");
                assert!(b >= last);
                last = b;
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket(1 << COARSEST), BUCKETS - 1);
        assert_eq!(bucket((1 << COARSEST) - 1), BUCKETS - 2);
    }

    #[test]
    fn quantiles_are_upper_edges() {
        let mut h = Histogram::default();
        assert_eq!(h.quantile(0.5), Duration::ZERO);
        h.record_immediate(90);
        for _ in 0..10 {
            h.record(50_000_000);
        }
        assert_eq!(h.quantile(0.9), Duration::ZERO);
        let p99 = h.quantile(0.99);
        assert!(p99 > Duration::from_millis(50) && p99 <= Duration::from_micros(62_500), "{p99:?}");
    }
}
