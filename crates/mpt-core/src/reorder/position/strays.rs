//! Numbers out of reach: one says nothing, several near one another say that the window is wrong.

use super::history::HORIZON;
use crate::sequence::Sequence;

/// So many strays in a row move the window.
const STRAYS: usize = 3;

/// Strays in a row that lie within the horizon of one another.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::reorder) struct Strays {
    numbers: [Sequence; STRAYS],
    len: usize,
}

impl Strays {
    pub(in crate::reorder) fn clear(&mut self) {
        self.len = 0;
    }

    pub(in crate::reorder) fn contains(&self, number: Sequence) -> bool {
        self.numbers[..self.len].contains(&number)
    }

    /// Adds one. Returns the run when it is long enough to move the window.
    pub(in crate::reorder) fn push(&mut self, number: Sequence) -> Option<[Sequence; STRAYS]> {
        // The run goes on with the last ones that lie near this one.
        let near = |n: &Sequence| n.ahead_of(number).unsigned_abs() < HORIZON as u32;
        let kept = self.numbers[..self.len].iter().rev().take_while(|n| near(n)).count();
        self.numbers.copy_within(self.len - kept..self.len, 0);
        self.numbers[kept] = number;
        self.len = kept + 1;
        (self.len == STRAYS).then_some(self.numbers)
    }
}
