//! The way in: a datagram is data, a frame of a session, or a message of a prototype.

use std::net::SocketAddr;
use std::time::Instant;

use mpt_wire::ecn;

use super::{Node, PacketMemory};
use crate::tunnel::Received;
use crate::{DatagramDrop, SocketId, Times};

impl<P: Copy> Node<P> {
    /// Handles a datagram (GRE header and payload) that has arrived on a socket. Its inner ECN and
    /// MSS fields may be changed in `memory`; the packets that it makes deliverable go to the
    /// devices there. `at`: the time, or [`Times`] where the datagram is read after its arrival.
    ///
    /// # Errors
    ///
    /// The reason for which the datagram was dropped. It is counted, see
    /// [`Tunnels`](crate::Tunnels).
    #[inline]
    pub fn handle_datagram<M: PacketMemory<P>>(
        &mut self,
        at: impl Into<Times>,
        socket: SocketId,
        source: SocketAddr,
        ecn: ecn::Ecn,
        datagram: P,
        memory: &mut M,
    ) -> Result<(), DatagramDrop> {
        let at = at.into();
        let now = at.now();
        let bytes = memory.bytes_mut(datagram);
        match self.tunnels.accept(socket, source, ecn, bytes) {
            Ok(Received::Packet(accepted)) => {
                let packet = memory.accept(datagram, accepted.connection(), accepted.inner());
                self.tunnels.receive(at, &accepted, packet, memory);
                self.deliver_restored(now, memory);
                if let Some(connection) = self.tunnels.take_found() {
                    self.sessions.ask_soon(now, connection);
                }
                Ok(())
            }
            Ok(Received::Frame(start)) => {
                self.handle_frame(at, (socket, source), (datagram, start), memory)
            }
            Ok(Received::Message(path, start)) => {
                self.prototypes.handle_data(now, path, bytes.get(start..).unwrap_or_default());
                self.follow_prototypes(now);
                Ok(())
            }
            Err(reason) => Err(reason),
        }
    }

    /// Handles a frame of a session, which begins at an offset in its datagram.
    fn handle_frame<M: PacketMemory<P>>(
        &mut self,
        at: Times,
        (socket, source): (SocketId, SocketAddr),
        (datagram, start): (P, usize),
        memory: &mut M,
    ) -> Result<(), DatagramDrop> {
        if self.sessions.public_key().is_none() {
            self.tunnels.count_drop(DatagramDrop::Control);
            return Err(DatagramDrop::Control);
        }
        let bytes = memory.bytes_mut(datagram).get(start..).unwrap_or_default();
        let len = bytes.len().min(self.frame.len());
        self.frame[..len].copy_from_slice(&bytes[..len]);
        let frame = &self.frame[..len];
        self.sessions.handle_frame(at, socket, source, frame, &mut self.tunnels, memory);
        self.deliver_restored(at.now(), memory);
        while let Some(connection) = self.tunnels.take_found() {
            self.sessions.ask_soon(at.now(), connection);
        }
        Ok(())
    }

    /// Delivers packets that were restored from symbols. One for which there is no memory is lost after all.
    #[inline]
    fn deliver_restored<M: PacketMemory<P>>(&mut self, now: Instant, memory: &mut M) {
        if self.tunnels.has_restored() {
            self.deliver_all_restored(now, memory);
        }
    }

    #[cold]
    fn deliver_all_restored<M: PacketMemory<P>>(&mut self, now: Instant, memory: &mut M) {
        while let Some((accepted, restored)) = self.tunnels.take_restored() {
            if let Some(packet) = memory.restored(accepted.connection(), &restored.packet) {
                self.tunnels.receive(now, &accepted, packet, memory);
            }
        }
    }

    /// Handles a datagram that has arrived on a command port of the prototype's protocol.
    pub fn handle_command(
        &mut self,
        now: Instant,
        socket: SocketId,
        source: SocketAddr,
        datagram: &[u8],
    ) {
        self.prototypes.handle_command(now, socket, source, datagram);
        self.follow_prototypes(now);
    }
}
