//! The thinning of acknowledgements (RFC 3449 section 5.2.1).
//!
//! A download over links that are slow in the other direction is bounded by its acknowledgements. One
//! says all that those before it do, so where they queue up, fewer are enough.

use std::time::{Duration, Instant};

use super::FairQueue;

/// The time that an acknowledgement waits before it may be dropped. Less is no queue: a sender loses
/// nothing by a wait of a few milliseconds, and by gaps between its acknowledgements it may.
const LEAST_WAIT: Duration = Duration::from_millis(5);

impl<T: Copy> FairQueue<T> {
    /// Drops those acknowledgements at the head of a flow that have waited for [`LEAST_WAIT`] and say
    /// nothing that the packet behind does not say. At least one packet of the flow remains.
    #[inline]
    pub(super) fn thin(&mut self, index: u16, now: Instant) {
        if self.is_needless(index, now) {
            self.drop_needless(index, now);
        }
    }

    #[cold]
    fn drop_needless(&mut self, index: u16, now: Instant) {
        while self.is_needless(index, now) {
            self.drop_segment(index);
            self.counters.superseded += 1;
        }
    }

    #[inline]
    fn is_needless(&self, index: u16, now: Instant) -> bool {
        let head = self.flows.get(index).0.chain.first;
        let packet = self.slots.packet(head);
        packet.acknowledges.is_some()
            && now.saturating_duration_since(self.slots.arrival(head)) >= LEAST_WAIT
            && self.slots.behind(head).is_some_and(|later| packet.is_superseded_by(later))
    }
}
