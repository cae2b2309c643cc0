//! A window behind a play-out: packets come when it is their turn, and nothing is waited for here.

use std::time::Instant;

use crate::reorder::ring::{Slot, State};
use crate::reorder::{ReorderBuffer, Sink};
use crate::sequence::Sequence;

impl<P: Copy> ReorderBuffer<P> {
    /// From now on packets come when it is their turn, and gaps have been waited for. What waits
    /// goes to `wait`, with its number, in order. If the window has slid, some of it was counted
    /// already, and all of it is delivered.
    pub(in crate::reorder) fn begin_direct(
        &mut self,
        sink: &mut impl Sink<P>,
        mut wait: impl FnMut(Sequence, Slot<P>),
    ) {
        if self.ring.contains_counted() {
            self.flush(sink);
        }
        while let Some(number) = self.ring.lowest(self.due)
            && let Some(slot) = self.ring.take_first(number)
        {
            wait(number, slot);
        }
        self.rest();
        self.direct = true;
        self.apply(self.config);
    }

    /// Packets come as they come.
    pub(in crate::reorder) fn end_direct(&mut self) {
        self.direct = false;
        self.evidence.reset(self.latest);
        self.apply(self.config);
    }

    /// The packet of this number, which is not before the one due, was delivered before its turn.
    pub(in crate::reorder) fn pass(&mut self, number: Sequence) {
        self.give_up(number);
        self.note_delivered(number);
    }

    /// The packet of this number, which is not before the one due, was delivered before its turn.
    /// Numbers before it are still waited for. `other`: any packet that is kept, which stands in its
    /// place.
    pub(in crate::reorder) fn pass_early(&mut self, now: Instant, number: Sequence, other: P) {
        if number == self.due {
            self.note_delivered(number);
        } else if number.ahead_of(self.due).unsigned_abs() < self.window {
            let now = self.clock.nanos(now);
            self.ring.insert(self.due, number, other, now, State::Passed);
        }
    }

    /// Counts a packet that was delivered before its turn.
    pub(in crate::reorder) fn count_ahead(&mut self) {
        self.counters.ahead += 1;
    }

    /// Counts a packet that was delivered in its turn, but before its time.
    pub(in crate::reorder) fn count_early(&mut self) {
        self.counters.early += 1;
    }

    /// Counts a packet that came before.
    pub(in crate::reorder) fn count_duplicate(&mut self) {
        self.counters.duplicate += 1;
    }
}
