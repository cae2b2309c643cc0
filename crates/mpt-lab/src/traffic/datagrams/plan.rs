//! The plan of a stream: how large its datagrams are, and when they leave.

use std::time::Duration;

use anyhow::{Result, ensure};

/// Bytes of a number and a time, which every datagram begins with.
pub(crate) const HEADER: usize = 16;

/// The properties of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    /// Payload of each datagram in bytes, [`HEADER`] at least.
    pub(crate) size: usize,
    pub(crate) pace: Pace,
    /// Number of datagrams; `None` for as many as go until [`Stream::finish`](super::Stream::finish).
    pub(crate) count: Option<u64>,
    /// True to send and receive them in super-packets where the kernel can.
    pub(crate) batches: bool,
    /// The DSCP of the datagrams (RFC 2474), 0 to 63. Streams with another one than 0 are of IPv4.
    pub(crate) dscp: u8,
}

/// The times at which datagrams leave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// Regular intervals.
    Every(Duration),
    /// Intervals drawn between half and one and a half of this time, so that nothing falls into step.
    Around(Duration),
}

impl Plan {
    pub(super) fn check(&self) -> Result<()> {
        let Self { size, pace: Pace::Every(time) | Pace::Around(time), .. } = *self;
        ensure!(size >= HEADER, "datagrams of {size} bytes: at least {HEADER} are needed");
        ensure!(!time.is_zero(), "datagrams without any time between them");
        Ok(())
    }
}
