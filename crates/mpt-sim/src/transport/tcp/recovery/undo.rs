//! The record of a response to congestion, and the treatments' conclusions on whether it was due.

use crate::kernel::time::Time;
use crate::transport::congestion::Saved;

/// One response to congestion.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    /// The window before it.
    pub(crate) saved: Saved,
    pub(crate) began: Time,
    /// The retransmitted numbers, each with the count of reports that it was not needed; at most a window of them.
    retransmitted: Vec<(u64, u8)>,
    first: Option<(u64, Time)>,
    /// True if the conclusion has been drawn, or can no longer be trusted.
    closed: bool,
}

impl Episode {
    pub(crate) fn new(saved: Saved, began: Time) -> Self {
        Self { saved, began, retransmitted: Vec::new(), first: None, closed: false }
    }

    pub(crate) fn retransmitted(&mut self, sequence: u64, now: Time) {
        self.first.get_or_insert((sequence, now));
        match self.retransmitted.iter_mut().find(|(other, _)| *other == sequence) {
            // Sent twice: a report does not tell which of them was not needed.
            Some(_) => self.closed = true,
            None => self.retransmitted.push((sequence, 0)),
        }
    }

    pub(crate) fn has_retransmitted(&self) -> bool {
        !self.retransmitted.is_empty()
    }

    /// Handles the report of a segment that came twice. Returns true once every retransmission has been reported (RFC 3708, with its precautions: a
    /// segment that was not retransmitted was duplicated by the network, and then nothing can be concluded).
    pub(crate) fn reported(&mut self, sequence: u64) -> bool {
        match self.retransmitted.iter_mut().find(|(other, _)| *other == sequence) {
            Some((_, reports)) => {
                *reports += 1;
                self.closed |= *reports > 1;
            }
            None => self.closed = true,
        }
        !self.closed && self.retransmitted.iter().all(|&(_, reports)| reports == 1)
    }

    /// Handles the acknowledgement of everything below `next`, by a segment sent at `echo` (RFC 3522). Returns true if that was before the first
    /// retransmission, which it covers.
    pub(crate) fn acknowledged(&mut self, next: u64, echo: Time) -> bool {
        match self.first {
            Some((sequence, at)) if next > sequence && !self.closed => {
                self.closed = true;
                echo < at
            }
            _ => false,
        }
    }
}
