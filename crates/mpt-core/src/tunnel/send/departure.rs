//! Packets that leave the queues of adaptive connections.

use std::time::Instant;

use super::{Departure, Outgoing};
use crate::ConnectionId;
use crate::tunnel::Tunnels;
use crate::tunnel::connection::Envelope;

impl<P: Copy> Tunnels<P> {
    /// The next segments that leave the queue of a connection, if any may leave now. Connections take
    /// turns, one packet each.
    #[inline]
    pub(crate) fn poll_departure(&mut self, now: Instant) -> Option<Departure<'_>> {
        let (connection, (packet, envelope, released)) = loop {
            let id = self.departing.next()?;
            let connection = self.connections.get_mut(id);
            let Some(connection) = connection else { continue };
            self.transmits.clear();
            if let Some(departure) = connection.depart(now, &mut self.paths, &mut self.transmits) {
                self.departing.again(id);
                break (id, departure);
            }
            if let Some(at) = connection.next_timeout() {
                self.timers.set_no_later(id.index() as u32, at);
            }
        };
        let Envelope { header, outer_tos, flow_hash, protected, at_once, .. } = envelope;
        let flow_hash = (flow_hash >> 32) as u32;
        let (transmits, sealing) = (&self.transmits, self.sealing_of(connection, at_once));
        let protection = self.protection_of(connection, protected);
        let outgoing = Outgoing {
            connection,
            header,
            sealing,
            protection,
            outer_tos,
            flow_hash,
            transmits,
            stored: None,
        };
        Some(Departure { packet, outgoing, released })
    }

    /// Bytes that may wait in the queue of one connection from now on.
    #[inline]
    pub(crate) fn limit_queues(&mut self, bytes: usize) {
        self.queue_limit = bytes;
    }

    /// Something has changed that may let packets of this connection leave.
    pub(crate) fn may_depart(&mut self, id: ConnectionId) {
        self.departing.insert(id);
    }
}
