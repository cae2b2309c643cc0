//! A window behind a play-out: packets come when it is their turn, and nothing is waited for here.

use crate::reorder::{ReorderBuffer, Sink};
use crate::sequence::Sequence;

impl<P: Copy> ReorderBuffer<P> {
    /// From now on packets come when it is their turn, and gaps have been waited for. Packets that
    /// wait are delivered.
    pub(in crate::reorder) fn begin_direct(&mut self, sink: &mut impl Sink<P>) {
        self.flush(sink);
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
