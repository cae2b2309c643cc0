//! The numbers that have left on a path and have not arrived.

use crate::sequence::Sequence;

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    /// The last number that the peer has reported to have sent over the path.
    told: Option<Sequence>,
    /// The highest number that has arrived on the path.
    came: Option<Sequence>,
}

/// By slot.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    paths: Vec<Path>,
}

impl UnderWay {
    fn path(&mut self, slot: usize) -> &mut Path {
        if self.paths.len() <= slot {
            self.paths.resize(slot + 1, Path::default());
        }
        &mut self.paths[slot]
    }

    /// Notes that the peer has sent numbers up to this one over the path.
    pub(super) fn told(&mut self, slot: usize, last: Sequence) {
        self.path(slot).told = Some(last);
    }

    /// Notes a number that has arrived on the path.
    pub(super) fn came(&mut self, slot: usize, number: Sequence) {
        let path = self.path(slot);
        if path.came.is_none_or(|came| number.is_after(came)) {
            path.came = Some(number);
        }
    }

    /// Returns true if a path may still deliver a number from `first` on and before `end`: such
    /// numbers or later ones were sent over it, and it has delivered none that late.
    pub(super) fn may_bring(&self, first: Sequence, end: Sequence) -> bool {
        self.paths.iter().any(|path| match (path.told, path.came) {
            (Some(told), Some(came)) => {
                !told.is_before(first) && came.is_before(told) && came.next().is_before(end)
            }
            _ => false,
        })
    }

    /// Removes a path.
    pub(super) fn remove(&mut self, slot: usize) {
        *self.path(slot) = Path::default();
    }

    /// Forgets everything, since the numbers begin anew.
    pub(super) fn clear(&mut self) {
        self.paths.clear();
    }
}
