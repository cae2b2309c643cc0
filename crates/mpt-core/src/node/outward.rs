//! The way out: a packet or super-packet of a device gets its connection, its numbers and its paths.

use std::time::Instant;

use super::Node;
use crate::{ConnectionId, Departure, DeviceId, InnerDrop, InnerPacket, Outgoing};

impl<P: Copy> Node<P> {
    /// Handles a packet from a device, or a super-packet that is to become several: finds its
    /// connection, numbers its segments in order and chooses a path for each. (The kernel's routing
    /// has already handled the hop limit.)
    ///
    /// # Errors
    ///
    /// The reason for which the packet is not sent. It is counted, see [`Tunnels`](crate::Tunnels).
    #[inline]
    pub fn handle_inner(
        &mut self,
        now: Instant,
        device: DeviceId,
        packet: InnerPacket<'_>,
    ) -> Result<Outgoing<'_>, InnerDrop> {
        let sent = self.tunnels.send(now, device, packet);
        if let Some(connection) = self.tunnels.take_woken() {
            self.wake(now, connection);
        }
        Ok(self.tunnels.outgoing(sent?))
    }

    /// Takes the next segments that leave the queue of a connection. The owner asks after each call
    /// of [`Self::handle_inner`], [`Self::handle_datagram`] and [`Self::handle_timeout`] until
    /// there are none.
    #[inline]
    pub fn poll_departure(&mut self, now: Instant) -> Option<Departure<'_>> {
        self.tunnels.poll_departure(now)
    }

    /// Sets how many bytes may wait in the queue of any one connection from now on, besides its own
    /// bound: the memory that the owner has for them. A packet beyond it is dropped and counted in
    /// [`InnerDrops::queue_memory`](crate::InnerDrops::queue_memory).
    ///
    /// An owner that gives each queue as much as is free keeps some for every other one ("dynamic
    /// thresholds", Choudhury and Hahne, 1998).
    #[inline]
    pub fn limit_queues(&mut self, bytes: usize) {
        self.tunnels.limit_queues(bytes);
    }

    /// Has the session of a connection probe often again, at the first packet after a pause.
    #[cold]
    fn wake(&mut self, now: Instant, connection: ConnectionId) {
        self.follow_changes();
        self.sessions.wake(now, connection, &mut self.tunnels);
    }
}
