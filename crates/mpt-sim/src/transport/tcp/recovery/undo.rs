//! Was the response to congestion due? What is remembered of it, and what the treatments conclude.

use crate::kernel::time::Time;
use crate::transport::congestion::Saved;

/// One response to congestion.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    /// The window before it.
    pub(crate) saved: Saved,
    pub(crate) began: Time,
    /// What was retransmitted, with the number of reports that it was not needed. At most a window of them.
    retransmitted: Vec<(u64, u8)>,
    first: Option<(u64, Time)>,
    /// What was found out can no longer be trusted, or has been.
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

    /// A segment came twice. True once every retransmission has been reported (RFC 3708, with its precautions: what
    /// was not retransmitted was duplicated by the network, and then nothing can be concluded).
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

    /// Everything below `next` has come, by a segment sent at `echo` (RFC 3522). True where that was before the
    /// first retransmission, which it covers.
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
