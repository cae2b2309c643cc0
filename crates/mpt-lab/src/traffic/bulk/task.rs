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
