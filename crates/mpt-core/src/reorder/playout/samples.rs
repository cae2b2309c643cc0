//! Packets whose delay is measured once the peer has told when they left.

use crate::sampling::{Sampling, WANTED};
use crate::sequence::Sequence;

/// The most packets that wait for that.
const MOST: usize = 64;

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) slot: usize,
    pub(super) number: Sequence,
    /// The time of its arrival, in microseconds.
    pub(super) arrival: i64,
}

/// The packets that wait to be measured.
#[derive(Debug, Default)]
pub(super) struct Samples {
    waiting: Vec<Sample>,
    /// The choice of them, between two messages with send times.
    pub(super) sampling: Sampling,
}

impl Samples {
    /// Notes a packet that has arrived. Returns true if it is to be measured.
    #[inline]
    pub(super) fn note(&mut self, number: Sequence) -> bool {
        self.sampling.note(number.0) && self.waiting.len() < MOST
    }

    /// Adds a packet that is to be measured.
    pub(super) fn push(&mut self, sample: Sample) {
        self.waiting.push(sample);
    }

    /// Keeps those for which `keep` returns true, after a message with send times.
    pub(super) fn settle(&mut self, keep: impl FnMut(&Sample) -> bool) {
        self.waiting.retain(keep);
        self.sampling.restart(WANTED);
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
