//! From the network to the TUN devices.

pub(super) mod accepted;
pub(super) mod sink;

use std::net::SocketAddr;
use std::num::NonZeroU16;

use mpt_wire::{ecn, gre};

use super::{AcceptedDatagram, DatagramDrop, DeviceSink, Received, Tunnels};
use crate::tunnel::connection::Arrival;
use crate::{ConnectionId, SocketId, Times};

impl<P: Copy> Tunnels<P> {
    /// Judges one datagram (GRE header and inner packet) from a socket. Its inner ECN and MSS
    /// fields may be changed. A packet has to be handed to [`Self::receive`]; these are
    /// two calls so that the caller may lend the datagram's bytes to the first and to its
    /// [`DeviceSink`] in the second.
    ///
    /// Packets with and without a sequence number may be mixed, as a plain RFC 8086 peer may: those
    /// without are delivered at once, and so are those with one where the connection uses none.
    ///
    /// A frame is for [`crate::session::Sessions`], and a message for [`crate::compat::Compat`]: neither
    /// is counted here.
    #[inline]
    pub(crate) fn accept(
        &mut self,
        socket: SocketId,
        remote: SocketAddr,
        outer_ecn: ecn::Ecn,
        datagram: &mut [u8],
    ) -> Result<Received, DatagramDrop> {
        let mut whose = None;
        let received = self.decapsulate(&mut whose, socket, remote, outer_ecn, datagram);
        if let Err(reason) = received {
            let connection = whose.and_then(|id| self.connections.found_mut(id));
            let drops =
                connection.map_or(&mut self.datagram_drops, |it| &mut it.tally.datagram_drops);
            drops.add(reason);
        }
        received
    }

    /// Counts a datagram that the caller drops.
    pub(crate) fn count_drop(&mut self, reason: DatagramDrop) {
        self.datagram_drops.add(reason);
    }

    /// Delivers the inner packet of an accepted datagram, or has the reorder buffer do so. `packet`
    /// is the caller's handle of it, and `at` the time, or [`Times`] where it is read after its arrival.
    #[inline]
    pub(crate) fn receive<S: DeviceSink<P>>(
        &mut self,
        at: impl Into<Times>,
        accepted: &AcceptedDatagram,
        packet: P,
        sink: &mut S,
    ) {
        let id = accepted.connection;
        let Some(connection) = self.connections.found_mut(id) else {
            return;
        };
        connection.receive(at.into(), accepted, packet, sink);
        if connection.has_found_gap() {
            self.found.push(id);
        }
        if connection.has_restored() {
            self.restored.push(id);
        }
        if let Some(time) = connection.reorder.as_ref().and_then(|reorder| reorder.next_timeout()) {
            self.timers.set_no_later(id.index() as u32, time);
        }
    }

    /// Sets `whose` to the connection that the datagram belongs to, once it is known.
    // The result has one type from the connection on, and no step makes another one of it: it has 40 bytes, and whoever copies what was just written in
    // other pieces waits (a failed store-to-load forwarding).
    #[inline]
    fn decapsulate(
        &mut self,
        whose: &mut Option<ConnectionId>,
        socket: SocketId,
        remote: SocketAddr,
        outer_ecn: ecn::Ecn,
        datagram: &mut [u8],
    ) -> Result<Received, DatagramDrop> {
        let (gre, payload) = gre::Repr::parse(datagram)?;
        match gre.protocol {
            gre::Protocol::IPV4 | gre::Protocol::IPV6 => {}
            gre::Protocol::CONTROL => return Ok(Received::Frame(payload)),
            gre::Protocol::SEALED => {
                return self.decapsulate_sealed(whose, socket, remote, outer_ecn, gre, datagram);
            }
            _ => return Err(DatagramDrop::UnknownProtocol),
        }
        let path_id = self.tables.assignments.lookup(socket, remote, gre.key)?;
        let path = self.paths.found_mut(path_id).ok_or(DatagramDrop::UnknownSender)?;
        let connection = self.connections.found_mut(path.connection);
        let connection = connection.ok_or(DatagramDrop::UnknownSender)?;
        *whose = Some(path.connection);
        connection.admit()?;
        let arrival = Arrival { gre, payload, outer_ecn, opened: None };
        let received = connection.accept(&arrival, datagram, path);
        if let Ok(Received::Packet(_)) = received {
            path.heard_port = NonZeroU16::new(remote.port());
        }
        received
    }
}
