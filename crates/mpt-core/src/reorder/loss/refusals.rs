//! The peer will not send some numbers again: the window does not wait for them.

use std::time::Instant;

use crate::reorder::{ReorderBuffer, Waiting};
use crate::sequence::Sequence;

impl<P: Copy> ReorderBuffer<P> {
    /// The peer will not send `count` numbers again, from `first` on: they are not waited for any
    /// more. [`ReorderBuffer::handle_timeout`] delivers what waits behind them. Returns how many of them
    /// are within reach.
    pub fn refuse(&mut self, now: Instant, first: u32, count: u32) -> u32 {
        let now = self.clock.nanos(now);
        let within = self.refused.insert(self.due, Sequence(first), count);
        if within > 0 && !self.ring.is_empty() {
            (self.waiting, self.deadline) = (Waiting::Any, self.deadline.min(now));
        }
        within
    }
}
