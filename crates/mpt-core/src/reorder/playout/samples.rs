//! Packets whose delay is measured once the peer has told when they left.

use crate::sequence::Sequence;

/// The most packets that wait for that, and the usual number of them per message with send times.
const MOST: usize = 64;
const WANTED: u32 = 24;

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) slot: usize,
    pub(super) number: Sequence,
    /// The time of its arrival, in microseconds.
    pub(super) arrival: i64,
}

#[derive(Debug, Default)]
pub(super) struct Samples {
    waiting: Vec<Sample>,
    /// One pair of numbers in this many is measured; 0 counts as 1.
    every: u32,
    /// Packets since the last message with send times.
    pub(super) packets: u32,
}

impl Samples {
    /// Notes a packet that has arrived. Returns true if it is to be measured.
    #[inline]
    pub(super) fn note(&mut self, number: Sequence) -> bool {
        self.packets = self.packets.saturating_add(1);
        // Packets are chosen by their numbers, since those that arrive together say little about
        // how delays differ.
        self.waiting.len() < MOST && (number.0 / 2).is_multiple_of(self.every.max(1))
    }

    /// Adds a packet that is to be measured.
    pub(super) fn push(&mut self, sample: Sample) {
        self.waiting.push(sample);
    }

    /// Keeps those for which `keep` returns true, after a message with send times.
    pub(super) fn settle(&mut self, keep: impl FnMut(&Sample) -> bool) {
        self.waiting.retain(keep);
        self.every = self.packets / WANTED;
        self.packets = 0;
    }

    /// Forgets the packets of a path.
    pub(super) fn remove_path(&mut self, slot: usize) {
        self.waiting.retain(|sample| sample.slot != slot);
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Gives back memory.
    pub(super) fn rest(&mut self) {
        self.waiting = Vec::new();
    }
}
