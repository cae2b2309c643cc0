//! The amount of data that a flow sends.

use std::time::Duration;

/// How much is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// As much as goes until [`Flow::finish`](super::Flow::finish). A connection that ends before is an error.
    Endless,
    /// As much as goes in this time.
    Time(Duration),
    /// So many bytes, given up after that time.
    Bytes(u64, Duration),
}
