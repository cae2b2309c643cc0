//! The counters of segments.

/// The counters of the segments of one queue since it exists.
///
/// Each segment of a packet that was taken ends in `left`, `dropped`, `overflowed`, `superseded` or
/// `cleared`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments that left.
    pub left: u64,
    /// Bytes of those.
    pub left_bytes: u64,
    /// Segments that left with a mark, also counted in `left`.
    pub marked: u64,
    /// Segments dropped because their flow had a standing queue.
    pub dropped: u64,
    /// Bytes of those.
    pub dropped_bytes: u64,
    /// Segments dropped because the queue was over a bound.
    pub overflowed: u64,
    /// Bytes of those.
    pub overflowed_bytes: u64,
    /// Acknowledgements dropped because one behind them said all that they did.
    pub superseded: u64,
    /// Segments that were waiting when the queue was cleared.
    pub cleared: u64,
    /// Segments of packets that were not taken.
    pub refused: u64,
}
