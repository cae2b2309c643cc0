//! The way out: a packet or super-packet of a device gets its connection, its numbers and its paths.

use std::time::Instant;

use mpt_wire::mss::ChecksumState;

use super::Node;
use crate::{ConnectionId, DeviceId, InnerDrop, Outgoing};

impl<P: Copy> Node<P> {
    /// One packet from a device, or a super-packet that is to become `segments` packets, the largest of
    /// `largest` bytes (headers included). Finds its connection, numbers its segments in order and
    /// chooses a path for each.
    ///
    /// The MSS option of a SYN may be lowered; `checksum` says whether its TCP checksum has to follow.
    /// Nothing else is changed; the hop limit was the business of the kernel's routing.
    ///
    /// # Errors
    ///
    /// Why it is not sent. It is counted, see [`Endpoint`](crate::Endpoint).
    #[inline]
    pub fn handle_inner(
        &mut self,
        now: Instant,
        device: DeviceId,
        packet: &mut [u8],
        checksum: ChecksumState,
        segments: u16,
        largest: usize,
    ) -> Result<Outgoing<'_>, InnerDrop> {
        let sent = self.tunnels.send(device, packet, checksum, segments, largest);
        if let Some(connection) = self.tunnels.take_woken() {
            self.wake(now, connection);
        }
        Ok(self.tunnels.outgoing(sent?))
    }

    /// The first packet after a pause: its session probes more often again.
    #[cold]
    fn wake(&mut self, now: Instant, connection: ConnectionId) {
        self.follow_changes();
        self.sessions.wake(now, connection, &mut self.tunnels);
    }
}
