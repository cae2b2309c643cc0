//! A report of the peer on a path, what the sender adds to it, and what follows for sending.

/// A report of the peer on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// When the peer made it, by its clock.
    pub(crate) at: i64,
    /// Bytes that have come on the path.
    pub(crate) bytes: u64,
    /// When the highest number that has come left.
    pub(crate) sent_at: i64,
    /// Bytes sent on the path up to that number.
    pub(crate) sent_bytes: u64,
    /// Of the first so many packets of the path so many have come, and no more will: modulo 2^32.
    pub(crate) settled: Option<(u32, u32)>,
    /// Packets that came with "congestion experienced" in their outer header, modulo 2^32.
    pub(crate) marked: u32,
}

/// The sender's own state at the time of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Present {
    /// The time.
    pub(crate) now: i64,
    /// Bytes sent on the path so far.
    pub(crate) sent_bytes: u64,
    /// Packets, modulo 2^32.
    pub(crate) sent_packets: u32,
    /// Since the report before, packets have waited for the path to have credit.
    pub(crate) backlogged: bool,
}

/// A change of sending that a report leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Nothing is sent on the path before this time.
    Until(i64),
    /// Packets may be sent again.
    Ends,
}
