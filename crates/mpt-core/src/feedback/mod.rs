//! The receiving side of an adaptive connection: what has come on which path and when, for the reports
//! to the sender.

use std::time::Instant;

/// Packets of which the time of arrival is kept for a report.
const SAMPLES: usize = 32;
/// As many as a report mostly has.
const WANTED: u32 = 16;

/// What has come on one path. Counters wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) packets: u32,
    pub(crate) bytes: u32,
    pub(crate) highest: u32,
    pub(crate) marked: u32,
    /// Something has come since the last report.
    fresh: bool,
}

/// What has come on the paths of a connection since the last report.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    /// By slot.
    paths: Vec<Option<Seen>>,
    samples: Vec<(u32, Instant)>,
    /// Every how many packets one is a sample, and how many are left to the next one.
    every: u32,
    left: u32,
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
        let first = Seen { highest: number, ..Seen::default() };
        let seen = self.paths[slot].get_or_insert(first);
        seen.packets = seen.packets.wrapping_add(1);
        seen.bytes = seen.bytes.wrapping_add(bytes);
        seen.marked = seen.marked.wrapping_add(u32::from(marked));
        if number.wrapping_sub(seen.highest).cast_signed() > 0 {
            seen.highest = number;
        }
        seen.fresh = true;
        self.packets = self.packets.wrapping_add(1);
        if self.left == 0 {
            self.left = self.every;
            self.sample(number, now);
        } else {
            self.left -= 1;
        }
    }

    #[cold]
    fn sample(&mut self, number: u32, now: Instant) {
        if self.samples.len() >= SAMPLES {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.every = 2 * self.every + 1;
        }
        self.samples.push((number, now));
    }

    /// True if packets have come since the last report.
    pub(crate) fn is_fresh(&self) -> bool {
        self.packets > 0
    }

    /// The packets with times of arrival.
    pub(crate) fn samples(&self) -> &[(u32, Instant)] {
        &self.samples
    }

    /// What has come on the paths on which something has, by slot.
    pub(crate) fn seen(&self) -> impl Iterator<Item = (usize, &Seen)> {
        let numbered = self.paths.iter().enumerate();
        numbered.filter_map(|(slot, seen)| Some((slot, seen.as_ref().filter(|seen| seen.fresh)?)))
    }

    /// The report is made: the next one begins.
    pub(crate) fn reported(&mut self) {
        self.every = self.packets / WANTED;
        self.left = 0;
        self.packets = 0;
        self.samples.clear();
        self.paths.iter_mut().flatten().for_each(|seen| seen.fresh = false);
    }

    /// A path is gone, its slot may be another one's.
    pub(crate) fn remove(&mut self, slot: usize) {
        if let Some(seen) = self.paths.get_mut(slot) {
            *seen = None;
        }
    }
}
