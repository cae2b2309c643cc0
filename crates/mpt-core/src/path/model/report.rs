//! A report of the peer on a path, the sender's own state with it, and the pause that may follow.

/// A report of the peer on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// The time of the report, by the peer's clock.
    pub(crate) at: i64,
    /// Bytes that have arrived on the path.
    pub(crate) bytes: u64,
    /// The send time of the highest number that has arrived.
    pub(crate) sent_at: i64,
    /// Bytes sent on the path up to that number.
    pub(crate) sent_bytes: u64,
    /// The number of the path's first packets that are settled, and how many of them have arrived,
    /// modulo 2^32. No more of them will arrive.
    pub(crate) settled: Option<(u32, u32)>,
    /// Packets that arrived with "congestion experienced" in their outer header, modulo 2^32.
    pub(crate) marked: u32,
}

/// The sender's own state at the time of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Present {
    /// The time.
    pub(crate) now: i64,
    /// Bytes sent on the path so far.
    pub(crate) sent_bytes: u64,
    /// Packets sent on the path so far, modulo 2^32.
    pub(crate) sent_packets: u32,
    /// True if packets have waited for credit of the path since the report before.
    pub(crate) backlogged: bool,
}

/// A pause in sending that follows from a report, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Nothing is sent on the path before this time.
    Until(i64),
    /// Packets may be sent again.
    Ends,
}
