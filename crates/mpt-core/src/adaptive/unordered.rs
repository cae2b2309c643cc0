//! Flows that the other end does not put in order, and the paths to which they keep.

use mpt_wire::ip::Summary;

use super::flow_table::FlowTable;

/// The paths of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keeps {
    /// The path that it keeps to. `None`: it takes the shortest one with credit.
    pub(super) only: Option<u16>,
    /// It sends more than that path carries, and has all of them.
    pub(super) all: bool,
}

/// The flows of one sender. Times are microseconds of the sender's clock.
#[derive(Debug, Default)]
pub(super) struct UnorderedFlows(FlowTable<Keeps>);

impl UnorderedFlows {
    /// Notes a packet, or super-packet, that is sent. Returns the paths of its flow; `None` where it begins.
    pub(super) fn note(&mut self, now: i64, summary: &Summary) -> Option<Keeps> {
        let found = self.0.note(now, summary.flow_hash(0))?;
        (!found.begins).then_some(*found.flow)
    }

    /// Sets the paths of a flow, until it pauses.
    pub(super) fn set(&mut self, now: i64, summary: &Summary, keeps: Keeps) {
        if let Some(found) = self.0.note(now, summary.flow_hash(0)) {
            *found.flow = keeps;
        }
    }

    /// Forgets the flows.
    pub(super) fn rest(&mut self) {
        self.0.clear();
    }
}
