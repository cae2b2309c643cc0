//! The bounds of one round of the data thread.

/// Reads from one socket in a round: then the devices get their turn.
pub(in crate::data) const READS_PER_SOCKET: usize = 8;
/// Small packets received in a round before the devices get their turn.
pub(in crate::data) const SMALL_PACKETS_PER_ROUND: usize = 64;
/// Small packets in a round, both ways, after which others get the processor.
pub(in crate::data) const SMALL_PACKETS_BURST: usize = 16;
/// Packets shorter than this count as small.
pub(in crate::data) const SMALL_PACKET: usize = 512;
/// Reads before what came in is written to the devices: enough for the segments of all paths to meet again, few enough to stay in the cache.
pub(crate) const BUFFERS_PER_ROUND: usize = 8;
