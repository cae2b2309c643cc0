//! A TCP flow: how much it has carried, in both directions.

use mpt_wire::ip::Summary;
use mpt_wire::tcp;

use super::services::{Service, Services};

/// The contents of a TCP packet that tell of its flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// The bytes of the packet.
    pub(super) bytes: u32,
    /// The sequence number up to which everything has come from the other end.
    pub(super) acknowledged: Option<u32>,
    /// True if it is the last packet of its flow in this direction.
    pub(super) ends: bool,
}

/// A TCP flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    /// The bytes since it began, in both directions.
    bytes: u64,
    acknowledged: Option<u32>,
    pub(super) service: Service,
    /// It is expected to stay short, and keeps to one path for as long as it is known.
    pub(super) short: bool,
    /// It is longer than what counts as short.
    pub(super) long: bool,
}

impl Seen {
    /// Reads a TCP packet. `None`: it is cut off.
    pub(super) fn of(summary: &Summary, packet: &[u8]) -> Option<Self> {
        let segment = packet.get(summary.transport..summary.total_len)?;
        let segment = tcp::Packet::new_checked(segment).ok()?;
        let flags = segment.flags();
        let acknowledged = flags.contains(tcp::Flags::ACK).then(|| segment.acknowledgment());
        let ends = flags.intersects(tcp::Flags::FIN | tcp::Flags::RST);
        Some(Self { bytes: summary.total_len as u32, acknowledged, ends })
    }
}

impl Flow {
    /// Begins, for the first time or after a pause.
    pub(super) fn begin(&mut self, service: Service) {
        *self = Self { bytes: 0, long: false, service, ..*self };
    }

    /// Tells the services that it has ended. A long one has told them before.
    pub(super) fn tell(&self, services: &mut Services) {
        if !self.long {
            services.note(self.service, self.bytes);
        }
    }

    /// Adds a packet that is sent. Returns the bytes that the flow has carried so far.
    pub(super) fn add(&mut self, seen: Seen) -> u64 {
        let came = match (self.acknowledged, seen.acknowledged) {
            (Some(before), Some(now)) => now.wrapping_sub(before).cast_signed().max(0),
            _ => 0,
        };
        if came > 0 || self.acknowledged.is_none() {
            self.acknowledged = seen.acknowledged;
        }
        self.bytes += u64::from(seen.bytes) + u64::from(came.unsigned_abs());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_counts_by_its_acknowledgements() {
        let mut flow = Flow::default();
        let start = u32::MAX - 1_000;
        let mut send = |bytes, acknowledged| {
            flow.add(Seen { bytes, acknowledged: Some(acknowledged), ends: false })
        };
        assert_eq!(send(400, start), 400);
        assert_eq!(send(40, start.wrapping_add(100_000)), 100_440);
        // An acknowledgement that was overtaken.
        assert_eq!(send(40, start), 100_480);
        assert_eq!(send(40, start.wrapping_add(100_010)), 100_530);
    }
}
