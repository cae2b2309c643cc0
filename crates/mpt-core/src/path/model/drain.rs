//! Whose queue it is that stands in a path.
//!
//! A queue of ours alone is empty once all that we sent has come. So nothing is sent until then, and the next
//! packets show whether the queue is gone. If it is, what came meanwhile came as fast as the path carries it.
//! If it is not, others fill it, and to yield would be to starve.
//!
//! A capacity that has fallen and a rival look alike otherwise: in both cases the queue grows, and less is
//! delivered than was sent.

use super::report::Report;

/// A rate is taken over this time at least, in microseconds.
const LEAST_SPAN: i64 = 15_000;
/// Longest time for packets to show the queue after the path has drained, in microseconds.
const LONGEST_LOOK: i64 = 1_000_000;

/// A path that drains, and is then looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drain {
    /// Until then the path has drained, at the latest; then: until then it has shown its queue.
    until: i64,
    /// Bytes sent on the path when it began.
    sent_bytes: u64,
    /// When it began by the peer's clock, and the bytes that had come.
    began: (i64, u64),
    /// The rate at which packets came meanwhile, as far as it is known.
    capacity: Option<f64>,
    drained: bool,
    /// The rate beside others.
    shared: f64,
}

/// What a report shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Finding {
    /// Nothing new: the path drains, or has not shown its queue yet.
    Drains,
    /// All has come: packets may be sent at what came meanwhile, to see the queue.
    Drained { capacity: f64 },
    /// The queue is gone.
    Ours { capacity: f64 },
    /// It is not.
    Theirs { rate: f64 },
}

impl Drain {
    /// The path drains until `until` at the latest. `began`: when that begins by the peer's clock, and the bytes that
    /// had come. `shared`: the rate beside others.
    pub(super) const fn new(until: i64, sent_bytes: u64, began: (i64, u64), shared: f64) -> Self {
        Self { until, sent_bytes, began, capacity: None, drained: false, shared }
    }

    /// A report, and the queue if it shows one of packets that left after the path had drained. A queue of `some` or
    /// more is one.
    pub(super) fn handle_report(
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
        // The last report is about a time in which the last packet came long ago.
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
