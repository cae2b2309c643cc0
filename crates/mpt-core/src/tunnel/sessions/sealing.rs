//! Sealed data: the keys of all connections, and the packets that come in under them.

use std::net::SocketAddr;
use std::num::NonZeroU16;

use mpt_wire::{ecn, gre};

use crate::seal::{self, Opener, Refused, Sealer};
use crate::tunnel::connection::Arrival;
use crate::tunnel::{DatagramDrop, Received, Tunnels};
use crate::{ConnectionId, SocketId};

impl<P: Copy> Tunnels<P> {
    /// Accepts the packets that these keys open, for a connection.
    pub(crate) fn add_opener(&mut self, id: ConnectionId, opener: Box<Opener>) {
        if self.connection(id).is_some() {
            self.openers.insert(id, opener);
        }
    }

    /// Seals what a connection sends with these keys from now on.
    pub(crate) fn set_sealer(&mut self, id: ConnectionId, sealer: Box<Sealer>) {
        if let Some(connection) = self.connection_mut(id) {
            connection.set_sealer(sealer);
        }
    }

    /// Sends nothing that has to be sealed on a connection until it has other keys.
    pub(crate) fn drop_sealer(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connection_mut(id) {
            connection.drop_sealer(None);
        }
    }

    /// Leaves the next numbers of a connection unused. Returns false, and changes nothing, if there is
    /// no such connection or its keys end before.
    pub(crate) fn skip_numbers(&mut self, id: ConnectionId, count: u64) -> bool {
        self.connection_mut(id).is_some_and(|connection| connection.skip_numbers(count))
    }

    /// Erases the keys of both directions of one handshake, known by the index at this end and by that
    /// at the other one.
    pub(crate) fn erase_keys(&mut self, local: u32, remote: u32) {
        if let Some(id) = self.openers.remove(local)
            && let Some(connection) = self.connection_mut(id)
        {
            connection.drop_sealer(Some(remote));
        }
    }

    /// Says whether the peer of a connection does not seal, and may do so.
    pub(crate) fn set_plain_peer(&mut self, id: ConnectionId, plain: bool) {
        if let Some(connection) = self.connection_mut(id) {
            connection.set_plain_peer(plain);
        }
    }

    /// Decapsulates a sealed packet; see [`Self::decapsulate`]. Nothing changes before the packet
    /// is known to be authentic.
    pub(in crate::tunnel) fn decapsulate_sealed(
        &mut self,
        whose: &mut Option<ConnectionId>,
        socket: SocketId,
        remote: SocketAddr,
        outer_ecn: ecn::Ecn,
        gre: gre::Repr,
        datagram: &mut [u8],
    ) -> Result<Received, DatagramDrop> {
        let gre::Repr { checksum: false, key: Some(key), sequence: Some(sequence), .. } = gre
        else {
            return Err(DatagramDrop::SealedHeader);
        };
        let (id, opener) = self.openers.get_mut(key).ok_or(DatagramDrop::UnknownIndex)?;
        let connection = self.connections.found_mut(id).ok_or(DatagramDrop::UnknownIndex)?;
        *whose = Some(id);
        connection.admit()?;
        // The path is found as that of plain packets is, whatever the index says.
        let path = self.tables.assignments.lookup(socket, remote, connection.config.key);
        let path = path.ok().and_then(|path| self.paths.found_mut(path));
        let path = path.filter(|path| path.connection == id);
        let path = path.ok_or(DatagramDrop::UnknownSender)?;
        let opened = opener.open(sequence, path.slot, datagram).map_err(|error| match error {
            Refused::Replayed => DatagramDrop::Replayed,
            Refused::Unopened => DatagramDrop::SealedUnopened,
        })?;
        let arrival = Arrival { gre, payload: seal::HEADER_LEN, outer_ecn, opened: Some(opened) };
        let received = connection.accept(&arrival, &mut datagram[..opened.len], path);
        if let Ok(Received::Packet(_)) = received {
            path.heard_port = NonZeroU16::new(remote.port());
        }
        received
    }
}
