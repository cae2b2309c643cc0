//! By how much a path is longer than the others, one way.
//!
//! The one-way delay itself cannot be known: the clocks of both ends have nothing to do with each
//! other. But what lies between them is the same for every path, so differences can: of the stamps
//! of frames that came on different paths, the least delay of each counts, since whatever is above
//! it is a queue.

use std::time::{Duration, Instant};

/// How long a sample counts at least, and at most twice that; in time with samples. Within it two
/// clocks that differ by 50 millionths drift apart by a millisecond.
const MEMORY: Duration = Duration::from_secs(10);

/// How many samples show what delays there are, about: the spread of normally distributed ones is five
/// deviations then.
const ENOUGH: u16 = 64;

/// The least one-way delay of a path, plus what the clocks of both ends differ by, and the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneWay {
    /// When this period began, and what came in it.
    present: Option<(Instant, Range)>,
    /// What came in the one before.
    before: Option<Range>,
}

/// Samples in serial number arithmetic (RFC 1982).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    least: u32,
    most: u32,
    samples: u16,
}

impl Range {
    fn and(self, other: Self) -> Self {
        let before = |a: u32, b: u32| a.wrapping_sub(b).cast_signed() < 0;
        Self {
            least: if before(other.least, self.least) { other.least } else { self.least },
            most: if before(self.most, other.most) { other.most } else { self.most },
            samples: self.samples.saturating_add(other.samples),
        }
    }
}

impl OneWay {
    /// Without any sample.
    #[must_use]
    pub const fn new() -> Self {
        Self { present: None, before: None }
    }

    /// A frame sent at `sent` by the clock of the other end came at `received` by ours, both in
    /// microseconds modulo 2^32.
    pub fn record(&mut self, now: Instant, sent: u32, received: u32) {
        let sample = received.wrapping_sub(sent);
        let sample = Range { least: sample, most: sample, samples: 1 };
        self.present = Some(match self.present {
            Some((began, range)) if now.saturating_duration_since(began) < MEMORY => {
                (began, range.and(sample))
            }
            other => {
                self.before = other.map(|(_, range)| range);
                (now, sample)
            }
        });
    }

    /// Whether there is a sample.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.present.is_some()
    }

    /// By how much this path is longer than `other`: negative if it is shorter, `None` as long as
    /// one of them has no sample. In microseconds.
    #[must_use]
    pub fn longer_than(&self, other: &Self) -> Option<i32> {
        Some(self.range()?.least.wrapping_sub(other.range()?.least).cast_signed())
    }

    /// By how much delays differ: jitter, and what queues there were. Where there are few samples,
    /// more than they do: as much as many would, if delays are normally distributed. 0 as long as nothing
    /// can be said.
    #[must_use]
    pub fn spread(&self) -> Duration {
        let Some(Range { least, most, samples }) = self.range() else { return Duration::ZERO };
        // Expected spreads of 2, 3, 4 to 7, .. samples in deviations: 1.1, 1.7, 2.1 to 2.7, 2.8, 3.5, 4.1.
        let share = match samples {
            // With one, nothing differs.
            ..=2 => 4.5,
            3 => 3.0,
            4..8 => 2.2,
            8..16 => 1.7,
            16..32 => 1.4,
            32..ENOUGH => 1.2,
            _ => 1.0,
        };
        Duration::from_micros(most.wrapping_sub(least).into()).mul_f64(share)
    }

    fn range(&self) -> Option<Range> {
        let (_, range) = self.present?;
        Some(self.before.map_or(range, |before| before.and(range)))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    fn path(origin: Instant, samples: &[(u64, u32, u32)]) -> OneWay {
        let mut path = OneWay::new();
        for &(millis, sent, received) in samples {
            path.record(origin + Duration::from_millis(millis), sent, received);
        }
        path
    }

    #[test]
    fn paths_differ_by_their_least_delays_whatever_the_clocks_say() {
        let origin = Instant::now();
        for clocks in [0, 5, 1 << 31, u32::MAX - 60_000] {
            let stamp = |sent: u32, delay| (0, sent, sent.wrapping_add(clocks).wrapping_add(delay));
            let short = path(origin, &[stamp(0, 900), stamp(7, 200), stamp(u32::MAX, 5_000)]);
            let long = path(origin, &[stamp(3, 50_200), stamp(1 << 31, 70_000)]);
            assert_eq!(long.longer_than(&short), Some(50_000));
            assert_eq!(short.longer_than(&long), Some(-50_000));
            assert_eq!(short.spread(), 3 * Duration::from_micros(4_800));
        }
    }

    #[test]
    fn few_samples_differ_less_than_many_will() {
        let origin = Instant::now();
        let spread = |samples: u64| {
            let samples: Vec<_> = (0..samples).map(|n| (n, 0, 100 + 50 * (n % 2) as u32)).collect();
            path(origin, &samples).spread()
        };
        assert_eq!(spread(1), Duration::ZERO);
        let known: Vec<_> = [2, 3, 7, 8, 40, 64, 1000].map(|n| spread(n).as_micros()).to_vec();
        assert_eq!(known, [225, 150, 110, 85, 60, 50, 50]);
    }

    #[test]
    fn nothing_is_known_without_samples() {
        let known = path(Instant::now(), &[(0, 1, 2)]);
        assert_eq!(known.longer_than(&OneWay::new()), None);
        assert_eq!(OneWay::new().longer_than(&known), None);
    }

    #[test]
    fn a_delay_that_has_grown_is_seen_after_two_periods() {
        let origin = Instant::now();
        let other = path(origin, &[(0, 0, 100)]);
        let mut samples = vec![(0, 0, 100)];
        samples.extend((1..=30).map(|second| (second * 1000, 0, 600)));
        let differences: Vec<_> = (1..=samples.len())
            .map(|n| path(origin, &samples[..n]).longer_than(&other).unwrap())
            .collect();
        assert_eq!(differences[..20], [0; 20]);
        assert_eq!(differences[20..], [500; 11]);
    }
}
