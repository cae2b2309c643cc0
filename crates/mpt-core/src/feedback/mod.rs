//! The receiving side of an adaptive connection: what has come on which path and when, for the reports
//! to the sender.

use std::time::{Duration, Instant};

/// Packets of which the time of arrival is kept for a report.
const SAMPLES: usize = 32;
/// A packet that is later than this behind one of a higher number on its path counts as lost.
const SETTLED_AFTER: Duration = Duration::from_millis(250);
/// As many as a report mostly has.
const WANTED: u32 = 12;

/// What has come on one path. Counters wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) packets: u32,
    pub(crate) bytes: u32,
    pub(crate) highest: u32,
    pub(crate) marked: u32,
    /// The latest number that has settled, and the packets up to it.
    pub(crate) settled: Option<(u32, u32)>,
    /// The highest number when the present period began, and the packets up to it.
    settling: (u32, u32),
    /// When that was.
    since: Option<Instant>,
    /// Something has come since the last report.
    fresh: bool,
}

/// A packet that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) slot: u16,
    pub(crate) number: u32,
    pub(crate) at: Instant,
}

/// What has come on the paths of a connection since the last report.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    /// By slot.
    paths: Vec<Option<Seen>>,
    samples: Vec<Sample>,
    /// Every how many packets one is a sample, and how many are left to the next one.
    every: u32,
    left: u32,
    /// The path whose next packet is one as well.
    partner: Option<usize>,
    packets: u32,
}

impl Observer {
    /// A packet came.
    #[inline]
    pub(crate) fn note(
        &mut self,
        now: Instant,
        slot: usize,
        number: u32,
        bytes: u32,
        marked: bool,
    ) {
        if self.paths.len() <= slot {
            self.paths.resize(slot + 1, None);
        }
        let first =
            Seen { highest: number, settling: (number, 0), since: Some(now), ..Seen::default() };
        let seen = self.paths[slot].get_or_insert(first);
        seen.packets = seen.packets.wrapping_add(1);
        seen.bytes = seen.bytes.wrapping_add(bytes);
        seen.marked = seen.marked.wrapping_add(u32::from(marked));
        if number.wrapping_sub(seen.highest).cast_signed() > 0 {
            seen.highest = number;
        }
        let (settling, count) = &mut seen.settling;
        if number.wrapping_sub(*settling).cast_signed() <= 0 {
            *count = count.wrapping_add(1);
        }
        seen.fresh = true;
        self.packets = self.packets.wrapping_add(1);
        if self.partner == Some(slot) {
            // Two packets in a row on one path show its jitter.
            self.partner = None;
            self.sample(Sample { slot: slot as u16, number, at: now });
        } else if self.left == 0 {
            self.left = self.every;
            self.partner = Some(slot);
            self.sample(Sample { slot: slot as u16, number, at: now });
        } else {
            self.left -= 1;
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
            self.every = 2 * self.every + 1;
        }
        self.samples.push(sample);
    }

    /// True if packets have come since the last report.
    pub(crate) fn is_fresh(&self) -> bool {
        self.packets > 0
    }

    /// The packets with times of arrival.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// What has come on the paths on which something has, by slot.
    pub(crate) fn seen(&self) -> impl Iterator<Item = (usize, &Seen)> {
        let numbered = self.paths.iter().enumerate();
        numbered.filter_map(|(slot, seen)| Some((slot, seen.as_ref().filter(|seen| seen.fresh)?)))
    }

    /// The report is made: the next one begins.
    pub(crate) fn reported(&mut self, now: Instant) {
        self.every = self.packets / WANTED;
        self.left = 0;
        self.packets = 0;
        self.samples.clear();
        for seen in self.paths.iter_mut().flatten() {
            seen.fresh = false;
            if seen.since.is_none_or(|since| now >= since + SETTLED_AFTER) {
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
    }
}
