//! Packets that change their place where play-out begins or ends in the middle of a flow. They keep
//! their order: what is released with gaps before it looks to TCP like a loss of all that is
//! missing.

use std::time::Instant;

use super::{Class, Next, PlayOut, Waiting};
use crate::reorder::config::RESTORED;
use crate::reorder::ring::{Slot, State};
use crate::sequence::Sequence;

impl<P: Copy> PlayOut<P> {
    /// Takes a packet that waited in the window until now.
    pub(in crate::reorder) fn take_over(&mut self, now: Instant, number: Sequence, slot: Slot<P>) {
        if slot.state == State::Passed {
            return self.passed.insert(number);
        }
        self.wait(now.into(), RESTORED, number, Class::Ordered, slot.packet);
    }

    /// Returns any packet that waits in the order of the numbers.
    pub(in crate::reorder) fn any(&self) -> Option<P> {
        let number = self.bulk.lowest(self.front)?;
        self.bulk.get(number).map(|waiting| waiting.packet)
    }

    /// Returns what waits, one after the other, whether it is due or not: first what overtakes
    /// others, and then the numbers in their order.
    pub(in crate::reorder) fn leave(&mut self) -> Option<Next<P>> {
        if let Some(waiting) = self.hurried.pop_front() {
            return Some(Next::Ahead(waiting));
        }
        if let Some(number) = self.acknowledgements.lowest(self.front)
            && let Some(slot) = self.acknowledgements.take_first(number)
        {
            self.passed.insert(number);
            return Some(Next::Ahead(slot.packet));
        }
        let bulk = self.bulk.lowest(self.front);
        let end = bulk.or_else(|| self.passed.end_after(self.front))?;
        let number = self.passed.first(self.front, end).or(bulk)?;
        (self.front, self.target) = (number.next(), number.next());
        // A packet is no evidence of its path, since it arrived some time ago.
        let restored = |packet| Waiting { path: RESTORED as u16, ..packet };
        let waiting = self.bulk.take_first(number).map(|slot| restored(slot.packet));
        Some(waiting.map_or(Next::Passed(number), |waiting| Next::InTurn(number, waiting)))
    }
}
