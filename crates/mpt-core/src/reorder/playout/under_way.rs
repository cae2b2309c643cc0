//! What has left on a path and has not come.

use crate::sequence::Sequence;

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    /// The last number that the peer has told it gave to the path.
    told: Option<Sequence>,
    /// The highest number that has come on it.
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

    /// The peer has given the path numbers up to this one.
    pub(super) fn told(&mut self, slot: usize, last: Sequence) {
        self.path(slot).told = Some(last);
    }

    /// A number has come on the path.
    pub(super) fn came(&mut self, slot: usize, number: Sequence) {
        let path = self.path(slot);
        if path.came.is_none_or(|came| number.is_after(came)) {
            path.came = Some(number);
        }
    }

    /// Whether a path may still bring a number from `first` on and before `end`: it was given such numbers
    /// or later ones, and has brought none that late.
    pub(super) fn may_bring(&self, first: Sequence, end: Sequence) -> bool {
        self.paths.iter().any(|path| match (path.told, path.came) {
            (Some(told), Some(came)) => {
                !told.is_before(first) && came.is_before(told) && came.next().is_before(end)
            }
            _ => false,
        })
    }

    /// The path is gone.
    pub(super) fn remove(&mut self, slot: usize) {
        *self.path(slot) = Path::default();
    }

    /// The numbers begin anew.
    pub(super) fn clear(&mut self) {
        self.paths.clear();
    }
}
