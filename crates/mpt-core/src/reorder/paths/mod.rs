//! The paths whose packets the window puts in order: which there are, and what is known of them.

mod lag;
pub(super) mod path;
mod patience;

use std::time::{Duration, Instant};

use super::ReorderBuffer;
use crate::sequence::Sequence;

impl<P: Copy> ReorderBuffer<P> {
    /// Adds a path that is up, or replaces the one of this index, which should be small. `weight`:
    /// the sender's, as far as it is known.
    pub fn add_path(&mut self, now: Instant, path: usize, weight: u16) {
        let now = self.clock.nanos(now);
        self.evidence.add(now, path, weight);
        self.judge_anew(now);
    }

    /// Removes a path.
    pub fn remove_path(&mut self, now: Instant, path: usize) {
        self.path_down(now, path);
    }

    /// The path came up: its statistics begin anew. No change if it is up.
    pub fn path_up(&mut self, now: Instant, path: usize) {
        let now = self.clock.nanos(now);
        self.evidence.up(now, path);
        self.judge_anew(now);
    }

    /// The path went down: nothing more is expected of it. The packets that waited for it are
    /// delivered by the next [`ReorderBuffer::handle_timeout`], which is due at once.
    pub fn path_down(&mut self, now: Instant, path: usize) {
        let now = self.clock.nanos(now);
        self.evidence.down(path);
        self.judge_anew(now);
    }

    /// The sender's weight of a path, as far as it is known otherwise than by
    /// [`ReorderBuffer::announce`].
    pub fn set_weight(&mut self, path: usize, weight: u16) {
        self.evidence.set_weight(path, weight);
    }

    /// The sender's weight of a path that is down: it counts when the path is up again, and what was
    /// announced of it before does not.
    pub fn set_weight_of_down(&mut self, path: usize, weight: u16) {
        self.evidence.withdraw(path);
        self.evidence.set_weight(path, weight);
    }

    /// By how much the delays of a path have differed, as far as is known otherwise than by its
    /// packets. It is believed until they have shown how late they come.
    pub fn set_jitter(&mut self, path: usize, jitter: Duration) {
        self.evidence.set_jitter(path, jitter.as_nanos() as u64);
    }

    /// The sender announces that from the number `first` on a path has another weight: 0 if it goes
    /// down (is given none of the numbers from there on), and its weight if it comes up.
    pub fn announce(&mut self, now: Instant, first: u32, path: usize, weight: u16) {
        let now = self.clock.nanos(now);
        self.evidence.announce(now, Sequence(first), path, weight);
        self.judge_anew(now);
    }

    /// Sets whether the paths' packets are evidence at all. They are not where one path is several
    /// (entropy ports).
    pub fn set_evidence(&mut self, usable: bool) {
        self.usable_evidence = usable;
        self.apply(self.config);
    }
}
