//! Packets that are wanted at once get past the numbers that are missing before them.

use std::time::Instant;

use crate::reorder::ring::State;
use crate::reorder::{Late, ReorderBuffer, Sink};
use crate::sequence::Sequence;

impl<P: Copy> ReorderBuffer<P> {
    /// Delivers a packet before the numbers that are missing before it, and keeps its number, so that
    /// its copies are known. Returns false, and does nothing, where none is missing or the window has
    /// to judge the number otherwise; that is also so where strict order is wanted.
    pub(in crate::reorder) fn receive_ahead(
        &mut self,
        now: Instant,
        path: usize,
        number: Sequence,
        packet: P,
        sink: &mut impl Sink<P>,
    ) -> bool {
        let ahead = number.ahead_of(self.due);
        let passes = ahead > 0
            && ahead.unsigned_abs() < self.window
            && self.started
            && self.before_restart.is_none()
            && self.late == Late::Deliver
            && !self.ring.contains(self.due, number);
        if !passes {
            return false;
        }
        let now = self.clock.nanos(now);
        self.latest = now;
        if self.judging {
            self.evidence.observe(now, path, number);
        }
        self.progress();
        self.counters.ahead += 1;
        sink.deliver(packet, false, true);
        self.ring.insert(self.due, number, packet, now, State::Passed);
        self.settle_if_news(now, path, sink);
        true
    }
}
