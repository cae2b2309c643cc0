//! The answer to explicit congestion notification: once per round-trip time (RFC 3168, section 6.1.2).

use super::Ecn;

/// The sender's state of explicit congestion notification.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// The segment below which marks have been answered.
    answered: u64,
    /// True if the next new segment says that the window has been reduced.
    tell: bool,
}

impl Marks {
    /// Handles the congestion flag of an acknowledgement, with everything below `first` acknowledged and `next` the next segment to be sent. Returns
    /// whether the window is to be reduced.
    pub(super) fn reduces(&mut self, congestion: bool, first: u64, next: u64) -> bool {
        let due = congestion && first >= self.answered;
        if due {
            (self.answered, self.tell) = (next, true);
        }
        due
    }

    /// Returns what a new segment carries, where segments can be marked at all.
    pub(super) fn of_new_segment(&mut self, capable: bool) -> Ecn {
        let reduced = std::mem::take(&mut self.tell) && capable;
        Ecn { capable, congested: false, reduced }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_has_one_answer() {
        let mut marks = Marks::default();
        assert!(!marks.reduces(false, 5, 20));
        assert!(marks.reduces(true, 6, 20) && !marks.reduces(true, 19, 30));
        assert!(marks.of_new_segment(true).reduced && !marks.of_new_segment(true).reduced);
        assert!(marks.reduces(true, 20, 35));
    }
}
