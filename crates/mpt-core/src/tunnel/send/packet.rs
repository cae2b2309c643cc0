//! A packet from a device.

use mpt_wire::ip;
use mpt_wire::tcp::mss::ChecksumState;

/// A packet or super-packet from a device, classified.
#[derive(Debug)]
pub struct InnerPacket<'a> {
    /// The packet. The MSS option of a SYN may be lowered in it; nothing else is changed.
    pub bytes: &'a mut [u8],
    /// Its headers.
    pub summary: ip::Summary,
    /// Says whether its TCP checksum has to follow a change.
    pub checksum: ChecksumState,
    /// The number of packets to make of it, at least one.
    pub segments: u16,
    /// Bytes of the largest of them, headers included.
    pub largest: usize,
}

impl<'a> InnerPacket<'a> {
    /// A packet that is sent as it is, with complete checksums.
    ///
    /// # Errors
    ///
    /// It is no complete IPv4 or IPv6 packet.
    #[inline]
    pub fn whole(bytes: &'a mut [u8]) -> Result<Self, ip::Malformed> {
        let (summary, largest) = (ip::Summary::parse(bytes)?, bytes.len());
        Ok(Self { bytes, summary, checksum: ChecksumState::Complete, segments: 1, largest })
    }
}
