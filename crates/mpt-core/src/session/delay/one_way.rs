//! By how much a path is longer than the others, one way.
//!
//! The one-way delay itself cannot be known: the clocks of both ends have nothing to do with each other. But what lies between them is the same for
//! every path, so differences can: of the stamps of frames that came on different paths, the least delay of each counts, since whatever is above it
//! is a queue. If delays jitter ([`Variation`]), packets usually do not have the least delay, and by chance it is another one every few seconds. Then
//! a path is as short as its usual delay says, and small differences say nothing.

use std::time::{Duration, Instant};

use super::variation::Variation;

/// The shortest time for which a sample counts while there are samples; the longest is twice that.
/// Within twice this time two clocks that differ by 50 millionths drift apart by a millisecond.
const MEMORY: Duration = Duration::from_secs(10);

/// The number of samples that show about all delays there are: the spread of normally distributed
/// ones is five deviations then.
const ENOUGH: u16 = 64;

/// The usual delay is so many variations above the least of some hundred: with normally distributed
/// ones the least is 2.5 deviations below the mean, and the variation 0.83 deviations.
const USUAL: u32 = 3;
/// Differences between two paths up to so many variations of both may be chance: 29 ms where delays
/// are normally distributed with a deviation of 10 ms on both.
const CHANCE: f64 = 1.75;

/// The spread is no more than so many variations (normally distributed delays have six), or [`STRAY`] where that is
/// more: what goes beyond it was a single frame that waited for something else.
const MOST_SPREAD: u32 = 12;
/// See [`MOST_SPREAD`], in microseconds.
const STRAY: u32 = 4_000;

/// The least one-way delay of a path, plus what the clocks of both ends differ by, and the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneWay {
    /// The time at which this period began, and what came in it.
    present: Option<(Instant, Range)>,
    /// The range of the interval before.
    before: Option<Range>,
    variation: Variation,
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
    /// A measurement without any sample.
    #[must_use]
    pub const fn new() -> Self {
        Self { present: None, before: None, variation: Variation::new() }
    }

    /// A frame sent at `sent` by the clock of the other end came at `received` by ours, both in
    /// microseconds modulo 2^32.
    pub fn record(&mut self, now: Instant, sent: u32, received: u32) {
        let sample = received.wrapping_sub(sent);
        self.variation.record(sample);
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

    /// Returns true if there is a sample.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.present.is_some()
    }

    /// The least delay plus what the clocks of both ends differ by, in microseconds modulo 2^32; `None`
    /// without a sample.
    #[must_use]
    pub fn least(&self) -> Option<u32> {
        Some(self.range()?.least)
    }

    /// By how much this path is longer than `other`: negative if it is shorter, `None` as long as
    /// one of them has no sample. In microseconds.
    #[must_use]
    pub fn longer_than(&self, other: &Self) -> Option<i32> {
        Some(self.range()?.least.wrapping_sub(other.range()?.least).cast_signed())
    }

    /// By how much packets of this path come earlier than those of `longest`. While it can be
    /// explained by chance, that is nothing, or what it was so far (`present`).
    #[must_use]
    pub fn lead(&self, longest: &Self, present: Duration) -> Duration {
        let median = |it: &Self| it.variation.median().unwrap_or(0);
        let (own, other) = (median(self), median(longest));
        // The longest path's variation makes up for that of this one, but makes it no longer than its
        // least delay says: it may be a queue's after all.
        let usual = own.saturating_sub(other).saturating_mul(USUAL);
        let longer = longest.longer_than(self).map_or(0, |longer| longer.max(0).unsigned_abs());
        let lead = Duration::from_micros(longer.saturating_sub(usual).into());
        let chance = Duration::from_micros(own.saturating_add(other).into()).mul_f64(CHANCE);
        if lead <= chance {
            Duration::ZERO
        } else if lead.abs_diff(present) <= chance {
            present
        } else {
            lead
        }
    }

    /// The spread of delays: jitter, and queues if there were any. With few samples it is more than they differ by: as much as many would, if
    /// delays are normally distributed. It is 0 as long as nothing can be said. Single frames that were late do not count: the first one to a
    /// neighbour waits until ARP has found that, and a radio link wakes up.
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
        let spread = Duration::from_micros(most.wrapping_sub(least).into()).mul_f64(share);
        self.variation.median().map_or(spread, |median| {
            let bound = median.saturating_mul(MOST_SPREAD).max(STRAY);
            spread.min(Duration::from_micros(bound.into()))
        })
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

    const NONE: Duration = Duration::ZERO;

    /// A path with so many samples of a delay and a jitter: the latter by turns less and more.
    fn jittery(delay: u32, jitter: u32) -> OneWay {
        let sample = |n: u64| {
            (200 * n, 0, if n.is_multiple_of(2) { delay - jitter } else { delay + jitter })
        };
        path(Instant::now(), &(0..40).map(sample).collect::<Vec<_>>())
    }

    #[test]
    fn the_lead_is_the_difference_where_delays_are_steady() {
        let (short, long) = (jittery(10_000, 0), jittery(60_000, 0));
        assert_eq!(short.lead(&long, NONE), Duration::from_millis(50));
        assert_eq!(long.lead(&long, NONE), NONE);
        assert_eq!(short.lead(&long, Duration::from_millis(49)), Duration::from_millis(50));
        assert_eq!(short.lead(&OneWay::new(), NONE), NONE);
    }

    #[test]
    fn a_frame_that_waited_for_its_neighbour_to_be_found_spreads_nothing() {
        let samples = |jitter: u32| {
            let sample = move |n: u64| match n {
                0 => (0, 0, 611_000),
                n => (200 * n, 0, 300_000 + jitter * (n % 2) as u32),
            };
            path(Instant::now(), &(0..64).map(sample).collect::<Vec<_>>()).spread()
        };
        assert_eq!(samples(0), Duration::from_millis(4));
        assert_eq!(samples(10_000), Duration::from_millis(120));
    }

    #[test]
    fn a_difference_that_may_be_chance_is_no_lead() {
        // 2 x 2 ms x 1.75 = 7 ms.
        let (a, b, c) = (jittery(50_000, 1_000), jittery(56_000, 1_000), jittery(58_000, 1_000));
        assert_eq!(a.lead(&b, NONE), NONE);
        assert_eq!(a.lead(&c, NONE), Duration::from_millis(8));
        assert_eq!(a.lead(&c, Duration::from_millis(11)), Duration::from_millis(11), "still so");
        assert_eq!(a.lead(&c, Duration::from_millis(16)), Duration::from_millis(8));
    }

    #[test]
    fn a_path_with_jitter_is_not_as_short_as_its_least_delay() {
        let (steady, jitter) = (jittery(50_000, 0), jittery(50_000, 5_000));
        assert_eq!(steady.longer_than(&jitter), Some(5_000));
        assert_eq!(jitter.lead(&steady, NONE), NONE);
        let long = jittery(100_000, 0);
        // Its least is 45 ms; it varies by 10 ms.
        assert_eq!(jitter.lead(&long, NONE), Duration::from_millis(55 - 30));
    }

    #[test]
    fn what_varies_on_the_longest_path_makes_it_no_longer() {
        let (short, long) = (jittery(10_000, 0), jittery(60_000, 2_000));
        assert_eq!(short.lead(&long, NONE), Duration::from_millis(48));
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
