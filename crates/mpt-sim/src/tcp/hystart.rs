//! The end of slow start by a growing round-trip time (Ha and Rhee, Taming the elephants: New TCP slow start, Computer
//! Networks 2011; the thresholds are those of RFC 9406, section 4.3). Its other rule, by trains of acknowledgements, is
//! left out.

/// Samples of a round that are looked at (RFC 9406: N_RTT_SAMPLE).
const SAMPLES: u32 = 8;
/// Least and largest growth, in seconds, and the share of the round-trip time in between (MIN_RTT_THRESH,
/// MAX_RTT_THRESH, MIN_RTT_DIVISOR).
const LEAST_GROWTH: f64 = 0.004;
const LARGEST_GROWTH: f64 = 0.016;
const DIVISOR: f64 = 8.0;
/// Smaller windows are not looked at, in segments.
const LEAST_WINDOW: f64 = 16.0;

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The round ends when this segment is acknowledged.
    end: u64,
    /// Least sample of the round.
    least: f64,
    samples: u32,
}

impl Default for HyStart {
    fn default() -> Self {
        Self { end: 0, least: f64::INFINITY, samples: 0 }
    }
}

impl HyStart {
    /// Takes a sample of the round-trip time in seconds, while everything below `first` is acknowledged and `next` is
    /// the next segment to be sent; `base` is the least sample ever. Whether slow start is over.
    pub(super) fn sample(
        &mut self,
        sample: f64,
        base: f64,
        window: f64,
        first: u64,
        next: u64,
    ) -> bool {
        if first > self.end {
            *self = Self { end: next, ..Self::default() };
        }
        if self.samples >= SAMPLES {
            return false;
        }
        self.samples += 1;
        self.least = self.least.min(sample);
        let growth = (base / DIVISOR).clamp(LEAST_GROWTH, LARGEST_GROWTH);
        self.samples == SAMPLES && window >= LEAST_WINDOW && self.least >= base + growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 20 segments, the first samples of which are these: in which round slow start ends.
    fn ends(rounds: &[f64], window: f64) -> Option<usize> {
        let mut hystart = HyStart::default();
        let mut base = f64::INFINITY;
        for (round, &rtt) in rounds.iter().enumerate() {
            for segment in 1..=20 {
                base = base.min(rtt);
                let first = 20 * round as u64 + segment;
                if hystart.sample(rtt, base, window, first, 20 * (round as u64 + 1)) {
                    return Some(round);
                }
            }
        }
        None
    }

    #[test]
    fn a_growth_of_an_eighth_ends_slow_start() {
        assert_eq!(ends(&[0.080, 0.085, 0.089, 0.091], 100.0), Some(3));
        assert_eq!(ends(&[0.080, 0.085, 0.089, 0.089], 100.0), None);
    }

    #[test]
    fn the_growth_has_its_bounds() {
        assert_eq!(ends(&[0.001, 0.0049, 0.0051], 100.0), Some(2));
        assert_eq!(ends(&[1.0, 1.015, 1.017], 100.0), Some(2));
    }

    #[test]
    fn small_windows_grow_on() {
        assert_eq!(ends(&[0.001, 0.1, 0.1], 15.0), None);
    }
}
