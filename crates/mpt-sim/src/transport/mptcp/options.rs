//! The options of a connection.

use mpt_link::ByteCount;

use super::Scheduler;
use crate::transport::tcp::{self, WireSizes};

/// Payload of a segment, in bytes.
pub const MSS: u64 = 1400;

/// Sizes over IPv4 and PPP (as the study has it), with timestamps: the DSS option takes 20 bytes beside data (numbers of 32 bits, no checksum) and 8
/// in an acknowledgement (RFC 8684, 3.3).
pub const SIZES: WireSizes = {
    let tcp = WireSizes::ipv4(MSS, 2, 0);
    WireSizes {
        segment: ByteCount(tcp.segment.0 + 20),
        ack: ByteCount(tcp.ack.0 + 8),
        block: tcp.block,
    }
};

/// The options of one connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The configuration of its subflows.
    pub tcp: tcp::Config,
    /// The scheduler, which chooses the subflow of the next segment.
    pub scheduler: Scheduler,
    /// Segments that the receiver buffers ahead of their turn; the shared receive window is as large.
    pub receive_buffer: u64,
    /// Segments to be delivered; `None` for endless.
    pub total: Option<u64>,
}
