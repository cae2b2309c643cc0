//! The time in which no packet of a path comes.

/// The packets that have come, as of the latest report by which there were more of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    /// The time of that report by the peer's clock, in microseconds.
    at: i64,
    bytes: u64,
}

impl Arrivals {
    /// A report of the peer at time `at`, by which so many bytes have come. Returns the time in which none had come
    /// before, in microseconds, or `None` if none have come since the last report.
    pub(crate) fn record(&mut self, at: i64, bytes: u64) -> Option<i64> {
        let gap = (bytes != self.bytes).then_some(at - self.at)?;
        *self = Self { at, bytes };
        Some(gap)
    }
}
