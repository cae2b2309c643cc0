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
        self.decapsulate(socket, remote, outer_ecn, datagram).map_err(|(connection, reason)| {
            let connection = connection.and_then(|id| self.connections.found_mut(id));
            let drops =
                connection.map_or(&mut self.datagram_drops, |it| &mut it.tally.datagram_drops);
            drops.add(reason);
            reason
        })
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

    #[inline]
    fn decapsulate(
        &mut self,
        socket: SocketId,
        remote: SocketAddr,
        outer_ecn: ecn::Ecn,
        datagram: &mut [u8],
    ) -> Result<Received, (Option<ConnectionId>, DatagramDrop)> {
        let unassigned = |reason| (None, reason);
        let (gre, payload) =
            gre::Repr::parse(datagram).map_err(|error| unassigned(error.into()))?;
        match gre.protocol {
            gre::Protocol::IPV4 | gre::Protocol::IPV6 => {}
            gre::Protocol::CONTROL => return Ok(Received::Frame(payload)),
            gre::Protocol::SEALED => {
                return self.decapsulate_sealed(socket, remote, outer_ecn, gre, datagram);
            }
            _ => return Err(unassigned(DatagramDrop::UnknownProtocol)),
        }
        let path_id =
            self.tables.assignments.lookup(socket, remote, gre.key).map_err(unassigned)?;
        let unknown = unassigned(DatagramDrop::UnknownSender);
        let path = self.paths.found_mut(path_id).ok_or(unknown)?;
        let id = path.connection;
        let connection = self.connections.found_mut(id).ok_or(unknown)?;
        connection.admit().map_err(|reason| (Some(id), reason))?;
        let arrival = Arrival { gre, payload, outer_ecn, opened: None };
        let accepted = connection.accept(&arrival, datagram, path);
        if let Ok(Received::Packet(_)) = accepted {
            path.heard_port = NonZeroU16::new(remote.port());
        }
        accepted.map_err(|reason| (Some(id), reason))
    }
}
