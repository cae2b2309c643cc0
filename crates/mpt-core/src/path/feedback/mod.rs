//! The receiving side of an adaptive connection: what has come on which path and when, for the reports
//! to the sender.

mod gaps;
mod ranges;

use std::time::{Duration, Instant};

use self::gaps::Gaps;
pub(crate) use self::ranges::{MOST_RANGES, Ranges};
use crate::Times;
use crate::sampling::Sampling;

/// Between two stamps of the sender that are further apart than this, in microseconds, there was a pause:
/// what is between them left before it.
pub(crate) const PAUSE: i64 = 3_000;
/// Packets of which the time of arrival is kept for a report.
const SAMPLES: usize = 32;
/// A packet that is later than this behind one of a higher number on its path counts as lost.
const SETTLED_AFTER: Duration = Duration::from_millis(250);
/// The time after which a late packet counts as lost on a path of which no packet has come after one of a higher number.
const IN_ORDER: Duration = Duration::from_millis(20);

/// The counters of arrivals on one path. They wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) packets: u32,
    pub(crate) bytes: u32,
    pub(crate) highest: u32,
    pub(crate) marked: u32,
    /// The latest number that has settled, and the packets up to it that have come until now.
    pub(crate) settled: Option<(u32, u32)>,
    /// The highest number when the present period began, and the packets up to it.
    settling: (u32, u32),
    /// The time of that arrival.
    since: Option<Instant>,
    /// Packets of this path overtake each other.
    reorders: bool,
    /// Something has come since the last report.
    fresh: bool,
}

impl Seen {
    /// True if something has come since the last report.
    pub(crate) fn is_fresh(&self) -> bool {
        self.fresh
    }
}

/// A packet that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) slot: u16,
    pub(crate) number: u32,
    /// The time of its arrival.
    pub(crate) at: Instant,
}

/// The arrivals on the paths of a connection since the last report.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    /// By slot.
    paths: Vec<Option<Seen>>,
    samples: Vec<Sample>,
    /// The choice of the samples.
    sampling: Sampling,
    /// The missing numbers, while the peer sends lost packets again.
    gaps: Option<Box<Gaps>>,
    /// It is known that something is missing.
    asking: bool,
    /// Something is missing since the session looked last.
    found: bool,
}

impl Observer {
    /// A packet came. Its sample has the time of its arrival; whatever waits counts from now on.
    #[inline]
    pub(crate) fn note(&mut self, at: Times, slot: usize, number: u32, bytes: u32, marked: bool) {
        let now = at.now();
        if self.paths.len() <= slot {
            self.paths.resize(slot + 1, None);
        }
        let first =
            Seen { highest: number, settling: (number, 0), since: Some(now), ..Seen::default() };
        let seen = self.paths[slot].get_or_insert(first);
        seen.packets = seen.packets.wrapping_add(1);
        seen.bytes = seen.bytes.wrapping_add(bytes);
        seen.marked = seen.marked.wrapping_add(u32::from(marked));
        match number.wrapping_sub(seen.highest).cast_signed() {
            1.. => seen.highest = number,
            0 => {}
            _ => seen.reorders = true,
        }
        let (settling, count) = &mut seen.settling;
        if number.wrapping_sub(*settling).cast_signed() <= 0 {
            *count = count.wrapping_add(1);
            // Repairs have lower numbers as well. The sender knows which of them have come at the
            // time of a report, and counts them.
            if let Some((settled, count)) = &mut seen.settled
                && number.wrapping_sub(*settled).cast_signed() <= 0
            {
                *count = count.wrapping_add(1);
            }
        }
        seen.fresh = true;
        if let Some(gaps) = &mut self.gaps {
            self.found |= gaps.note(now, number) && !self.asking;
        }
        if self.sampling.note(number) {
            self.sample(Sample { slot: slot as u16, number, at: at.arrived() });
        }
    }

    /// A packet was restored: it is not missing any more. No path has brought it.
    pub(crate) fn note_restored(&mut self, now: Instant, number: u32) {
        if let Some(gaps) = &mut self.gaps {
            self.found |= gaps.note(now, number) && !self.asking;
        }
    }

    #[cold]
    fn sample(&mut self, sample: Sample) {
        if self.samples.len() >= SAMPLES {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.sampling.choose_fewer();
        }
        self.samples.push(sample);
    }

    /// True if packets have come since the last report.
    pub(crate) fn is_fresh(&self) -> bool {
        self.sampling.packets > 0
    }

    /// The packets with times of arrival.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns what has come on the paths on which anything ever has, by slot.
    pub(crate) fn seen(&self) -> impl Iterator<Item = (usize, &Seen)> {
        let numbered = self.paths.iter().enumerate();
        numbered.filter_map(|(slot, seen)| Some((slot, seen.as_ref()?)))
    }

    /// The peer sends again what is lost, from number `from` on; or, without one, nothing.
    pub(crate) fn set_kept(&mut self, now: Instant, from: Option<u32>) {
        let Some(from) = from else {
            (self.gaps, self.asking, self.found) = (None, false, false);
            return;
        };
        if let Some(gaps) = &mut self.gaps {
            return gaps.forget_before(from);
        }
        // It is not known whether earlier numbers have come, so gaps are looked for behind the highest.
        let highest = self.paths.iter().flatten().map(|seen| seen.highest);
        let later = |a: u32, b: u32| if b.wrapping_sub(a).cast_signed() > 0 { b } else { a };
        if let Some(highest) = highest.reduce(later) {
            self.gaps = Some(Box::new(Gaps::new(now, highest.wrapping_add(1))));
        }
    }

    /// The peer says what it will not send again.
    pub(crate) fn refuse(&mut self, first: u32, count: u32) {
        if let Some(gaps) = &mut self.gaps {
            gaps.refuse(first, count);
        }
    }

    /// The peer says what it has sent.
    pub(crate) fn told(&mut self, now: Instant, number: u32) {
        if let Some(gaps) = &mut self.gaps {
            self.found |= gaps.told(now, number) && !self.asking;
        }
    }

    /// True once when something is missing after nothing was.
    #[inline]
    pub(crate) fn take_found(&mut self) -> bool {
        std::mem::take(&mut self.found)
    }

    /// Returns what is missing, the oldest first: first number and count. `None`: the peer sends nothing again.
    pub(crate) fn missing(
        &mut self,
        now: Instant,
    ) -> Option<impl Iterator<Item = (u32, u16)> + '_> {
        let gaps = self.gaps.as_mut()?;
        self.asking = gaps.update(now);
        Some(gaps.missing())
    }

    /// The report is made: the next one begins, with about as many samples as are `wanted`.
    pub(crate) fn reported(&mut self, now: Instant, wanted: usize) {
        self.sampling.restart(wanted);
        self.samples.clear();
        for seen in self.paths.iter_mut().flatten() {
            seen.fresh = false;
            let after = if seen.reorders { SETTLED_AFTER } else { IN_ORDER };
            if seen.since.is_none_or(|since| now >= since + after) {
                seen.settled = Some(seen.settling);
                seen.settling = (seen.highest, seen.packets);
                seen.since = Some(now);
            }
        }
    }

    /// A path is gone, its slot may be another one's.
    pub(crate) fn remove(&mut self, slot: usize) {
        if let Some(seen) = self.paths.get_mut(slot) {
            *seen = None;
        }
        self.samples.retain(|sample| usize::from(sample.slot) != slot);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    /// The sender counts the repairs that have come at the time of a report. Without those that came after a number had settled they looked lost,
    /// and a path in slow start was given 3 Mbit/s of 228.
    #[test]
    fn what_comes_late_counts_with_the_number_that_has_settled() {
        let origin = Instant::now();
        let mut observer = Observer::default();
        let mut come = |millis: u64, numbers: &[u32]| {
            let now = origin + Duration::from_millis(millis);
            for &number in numbers {
                observer.note(now.into(), 0, number, 1_000, false);
            }
            let settled = observer.seen().next().and_then(|(_, seen)| seen.settled);
            observer.reported(now, 24);
            settled
        };
        assert_eq!(come(0, &[1, 2, 5, 6]), None);
        assert_eq!(come(30, &[7]), None);
        assert_eq!(come(40, &[]), Some((1, 1)));
        assert_eq!(come(60, &[8]), Some((1, 1)));
        assert_eq!(come(70, &[3, 4, 9]), Some((7, 7)), "with two repairs");
    }

    #[test]
    fn a_report_has_about_as_many_samples_as_are_wanted() {
        let now = Instant::now();
        let mut observer = Observer::default();
        let mut samples = |wanted| {
            observer.reported(now, wanted);
            (0..500).for_each(|number| observer.note(now.into(), 0, number, 1_000, false));
            observer.samples().len()
        };
        // The first report does not know how much comes.
        assert!(samples(8) <= SAMPLES);
        assert_eq!([samples(8), samples(24)], [10, 26], "pairs");
    }
}
