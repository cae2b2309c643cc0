//! Packets that change their place where play-out begins or ends in the middle of a flow. They keep
//! their order: what is released with gaps before it looks to TCP like a loss of all that is
//! missing.

use std::time::Instant;

use super::{Next, PlayOut, Waiting};
use crate::reorder::config::RESTORED;
use crate::reorder::ring::{Slot, State};
use crate::sequence::Sequence;

impl<P: Copy> PlayOut<P> {
    /// Takes a packet that waited in the window until now.
    pub(in crate::reorder) fn take_over(&mut self, now: Instant, number: Sequence, slot: Slot<P>) {
        if slot.state == State::Passed {
            return self.passed.insert(number);
        }
        let waiting = Waiting {
            packet: slot.packet,
            path: RESTORED as u16,
            sent: self.guess(RESTORED, now),
            came: self.micros(now),
            flow: 0,
        };
        self.bulk.insert(self.front, number, waiting, 0, State::Waits);
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
        let next = match self.passed.first(self.front, end) {
            Some(number) => Next::Passed(number),
            // It is no evidence of its path, since it arrived some time ago.
            None => {
                let waiting = self.bulk.take_first(end)?.packet;
                Next::InTurn(end, Waiting { path: RESTORED as u16, ..waiting })
            }
        };
        let (Next::Passed(number) | Next::InTurn(number, _)) = next else { return None };
        (self.front, self.target) = (number.next(), number.next());
        Some(next)
    }
}
