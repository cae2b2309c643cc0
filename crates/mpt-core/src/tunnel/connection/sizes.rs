//! Sizes of the segments of a super-packet.

use mpt_wire::ip;

/// Sizes in bytes of the packets that a super-packet becomes: each has its headers, all but the
/// last are the largest.
pub(super) struct SegmentSizes {
    largest: u64,
    last: u64,
    segments: u16,
}

impl SegmentSizes {
    pub(super) fn new(summary: &ip::Summary, packet: &[u8], segments: u16, largest: usize) -> Self {
        let (largest, total) = (largest as u64, summary.total_len as u64);
        if segments <= 1 {
            return Self { largest: total, last: total, segments };
        }
        let transport = if summary.protocol == ip::protocol::TCP {
            let offset = packet.get(summary.transport + 12);
            4 * u64::from(offset.map_or(0, |byte| byte >> 4))
        } else {
            8
        };
        let headers = summary.transport as u64 + transport;
        let others = u64::from(segments - 1);
        let last = (total + others * headers).saturating_sub(others * largest);
        Self { largest, last, segments }
    }

    pub(super) fn total(&self) -> u64 {
        u64::from(self.segments.max(1) - 1) * self.largest + self.last
    }

    pub(super) fn of(&self, segment: u16) -> u64 {
        if segment + 1 == self.segments { self.last } else { self.largest }
    }
}
