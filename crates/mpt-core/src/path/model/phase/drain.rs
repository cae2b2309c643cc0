//! The drain of a path, which shows whether the queue that stands in it is ours.
//!
//! A queue of our packets alone is empty once everything that we sent has arrived. So nothing is
//! sent until then, and the next packets show whether the queue is gone. If it is, packets arrived
//! meanwhile at the capacity of the path. If it is not, other traffic fills it, and a sender that
//! yields to it starves.
//!
//! Otherwise a capacity that has fallen and other traffic look alike: in both cases the queue
//! grows, and less is delivered than was sent.

use crate::path::model::report::Report;

/// The shortest time over which a rate is measured, in microseconds.
const LEAST_SPAN: i64 = 15_000;
/// Longest time for packets to show the queue after the path has drained, in microseconds.
const LONGEST_LOOK: i64 = 1_000_000;

/// The state of a path that drains, and is then examined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::path::model) struct Drain {
    /// The latest time at which the path has drained, and then the latest time at which it has
    /// shown its queue.
    until: i64,
    /// Bytes sent on the path when the drain began.
    sent_bytes: u64,
    /// The time by the peer's clock at which the drain began, and the bytes that had arrived.
    began: (i64, u64),
    /// The rate at which packets have arrived meanwhile, as far as it is known.
    capacity: Option<f64>,
    drained: bool,
    /// The rate beside other traffic.
    shared: f64,
}

/// The result of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::path::model) enum Finding {
    /// Nothing new: the path drains, or has not shown its queue.
    Drains,
    /// Everything has arrived. Packets may be sent at the rate at which they arrived, to see the
    /// queue.
    Drained { capacity: f64 },
    /// The queue is gone, so it was ours.
    Ours { capacity: f64 },
    /// The queue still stands, so it is that of other traffic.
    Theirs { rate: f64 },
}

impl Drain {
    /// A drain until `until` at the latest. `began` is its beginning by the peer's clock with the
    /// bytes that had arrived, and `shared` the rate beside other traffic.
    pub(in crate::path::model) const fn new(
        until: i64,
        sent_bytes: u64,
        began: (i64, u64),
        shared: f64,
    ) -> Self {
        Self { until, sent_bytes, began, capacity: None, drained: false, shared }
    }

    /// Handles a report. `queue` is the queue that it shows of packets that left after the path had
    /// drained, and counts as one from `some` on.
    pub(in crate::path::model) fn handle_report(
        &mut self,
        now: i64,
        report: &Report,
        queue: Option<f64>,
        some: f64,
    ) -> Finding {
        let capacity = self.capacity.unwrap_or(self.shared);
        if self.drained {
            return match queue {
                Some(queue) if queue >= some => Finding::Theirs { rate: self.shared },
                Some(_) => Finding::Ours { capacity },
                None if now >= self.until => Finding::Ours { capacity },
                None => Finding::Drains,
            };
        }
        let (span, bytes) = (report.at - self.began.0, report.bytes.saturating_sub(self.began.1));
        let all = report.sent_bytes >= self.sent_bytes;
        // The last report may cover a time long after the last packet arrived.
        if span >= LEAST_SPAN && bytes > 0 && (!all || self.capacity.is_none()) {
            self.capacity = Some(bytes as f64 / span as f64);
        }
        if !all && now < self.until {
            return Finding::Drains;
        }
        (self.drained, self.until) = (true, now + LONGEST_LOOK);
        Finding::Drained { capacity: self.capacity.unwrap_or(self.shared) }
    }
}
