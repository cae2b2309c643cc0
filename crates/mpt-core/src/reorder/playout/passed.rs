//! The numbers that were delivered before their turn.

use crate::reorder::position::history::History;
use crate::sequence::Sequence;

/// The numbers, of which none is further ahead than the window. Memory is taken with the first one.
#[derive(Debug, Default)]
pub(super) struct Passed {
    numbers: Option<History>,
    /// The number after the last of them.
    end: Option<Sequence>,
}

impl Passed {
    pub(super) fn insert(&mut self, number: Sequence) {
        if self.end.is_none_or(|end| !number.is_before(end)) {
            self.end = Some(number.next());
        }
        self.numbers.get_or_insert_with(History::new).insert(number);
    }

    pub(super) fn contains(&mut self, number: Sequence) -> bool {
        self.numbers.as_mut().is_some_and(|numbers| numbers.contains(number))
    }

    /// Returns the first number from `from` on and before `end` that is none of them.
    pub(super) fn first_other(&self, from: Sequence, end: Sequence) -> Option<Sequence> {
        match &self.numbers {
            Some(numbers) => numbers.find(from, end, false),
            None => from.is_before(end).then_some(from),
        }
    }

    /// Returns the first of them from `from` on and before `end`.
    pub(super) fn first(&self, from: Sequence, end: Sequence) -> Option<Sequence> {
        self.numbers.as_ref()?.find(from, end, true)
    }

    /// Forgets a number. Returns true if it was there.
    pub(super) fn take(&mut self, number: Sequence) -> bool {
        let Some(numbers) = &mut self.numbers else { return false };
        let known = numbers.contains(number);
        if known {
            numbers.remove(number, 1);
        }
        known
    }

    /// Returns the number after the last of them, if one of them lies beyond `front`.
    pub(super) fn end_after(&self, front: Sequence) -> Option<Sequence> {
        self.end.filter(|end| end.is_after(front))
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
