//! Some of the paths of a connection, and what a flow over them may be expected to reach.

use smallvec::SmallVec;

/// The bytes that a TCP flow sends first (RFC 6928, section 2).
const FIRST_WINDOW: f64 = 10.0 * 1_448.0;
/// The factor by which slow start takes longer where delays jitter, since HyStart ends it before the
/// paths are full.
const JITTERS: f64 = 2.0;

/// The slots of paths that carry bulk together, the shortest first.
pub(super) type Slots = SmallVec<[u16; 4]>;

/// Some of the paths of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set {
    pub(super) slots: Slots,
    /// The round-trip time of bulk over them, in microseconds.
    pub(super) rtt: f64,
    /// The most that they may carry, in bytes per microsecond.
    pub(super) rate: f64,
    /// The rate that they are likely to carry, in bytes per microsecond.
    pub(super) likely: f64,
    /// True if the delays of one of them jitter.
    pub(super) jitters: bool,
}

/// The paths that may carry bulk, and smaller sets of them.
pub(super) struct Sets {
    pub(super) all: Set,
    pub(super) fewer: SmallVec<[Set; 8]>,
}

impl Set {
    /// Returns the bytes that a flow sends in its first `micros` microseconds: slow start takes a
    /// round-trip time for each doubling of the window.
    pub(super) fn first_bytes(&self, micros: f64) -> f64 {
        let doublings = (self.likely * self.rtt / FIRST_WINDOW).log2().max(0.0);
        let factor = if self.jitters { JITTERS } else { 1.0 };
        self.likely * (micros - factor * doublings * self.rtt).max(0.0)
    }
}
