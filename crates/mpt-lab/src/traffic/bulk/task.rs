//! The amount of data that a flow sends.

use std::time::Duration;

/// The amount of data to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// As much as possible until [`Flow::finish`](super::Flow::finish). A connection that ends before is an error.
    Endless,
    /// As much as possible in this time.
    Time(Duration),
    /// This number of bytes, given up after this time.
    Bytes(u64, Duration),
}

impl Task {
    /// Returns how many bytes are sent at most.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Endless | Self::Time(_) => u64::MAX,
            Self::Bytes(bytes, _) => bytes,
        }
    }

    /// Returns the time after which it is over, whatever has been sent.
    pub(super) fn limit(self) -> Duration {
        match self {
            Self::Endless => Duration::MAX,
            Self::Time(limit) | Self::Bytes(_, limit) => limit,
        }
    }
}
