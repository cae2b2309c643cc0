//! Sealed data: its numbers are authentic, and of each packet only the first copy comes to the window.

use std::time::Instant;

use crate::reorder::position::history::HORIZON;
use crate::reorder::{ReorderBuffer, Sink, Waiting};
use crate::sequence::Sequence;

impl<P: Copy> ReorderBuffer<P> {
    /// Says whether the numbers of packets are authentic. Then a number far ahead moves the window at
    /// once, since so many packets were lost, and nothing else ever does.
    pub fn trust_numbers(&mut self, trusted: bool) {
        self.trusted = trusted;
    }

    /// A path has brought a packet that another path brought before: evidence of what its path brings,
    /// and nothing else.
    pub fn receive_copy(
        &mut self,
        now: Instant,
        path: usize,
        number: u32,
        sink: &mut impl Sink<P>,
    ) {
        let (now, number) = (self.clock.nanos(now), Sequence(number));
        self.counters.duplicate += 1;
        let near = (-HORIZON..HORIZON).contains(&number.ahead_of(self.due));
        if !self.started || !self.judging || !near {
            return;
        }
        self.latest = now;
        self.evidence.observe(now, path, number);
        let news = match self.waiting {
            Waiting::Path(awaited) => awaited == path,
            Waiting::Any => true,
            Waiting::Deadline => false,
        };
        if news || now >= self.deadline {
            self.settle(now, sink);
        }
    }
}
