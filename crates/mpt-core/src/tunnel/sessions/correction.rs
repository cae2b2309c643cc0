//! Forward error correction: what sessions and the data of connections tell each other.

use std::time::Instant;

use mpt_wire::control::Symbol;

use crate::fec::{Ready, Restored};
use crate::tunnel::{AcceptedDatagram, Tunnels};
use crate::{ConnectionId, PathId};

impl<P: Copy> Tunnels<P> {
    /// Says whether the peer of a connection restores packets from symbols.
    pub(crate) fn set_peer_restores(&mut self, id: ConnectionId, restores: bool) {
        if let Some(connection) = self.connection_mut(id) {
            connection.set_peer_restores(restores);
        }
    }

    /// A connection of which a symbol is due.
    pub(crate) fn next_symbol(&mut self) -> Option<ConnectionId> {
        self.symbols.pop()
    }

    /// Takes the symbol of a connection that is due, and the path for it.
    pub(crate) fn take_symbol(
        &mut self,
        now: Instant,
        id: ConnectionId,
    ) -> Option<(PathId, Ready<'_>)> {
        self.connections.get_mut(id)?.take_symbol(now)
    }

    /// A symbol was sent over a path: so many bytes of a message, and so many around it.
    pub(crate) fn symbol_sent(
        &mut self,
        now: Instant,
        id: ConnectionId,
        path: PathId,
        (message, around): (u64, u64),
    ) {
        if let Some(connection) = self.connection_mut(id) {
            connection.symbol_sent(now, path, message, around);
        }
    }

    /// The peer of a connection has sent a symbol.
    pub(crate) fn handle_symbol(&mut self, now: Instant, id: ConnectionId, symbol: &Symbol<'_>) {
        let Some(connection) = self.connection_mut(id) else { return };
        connection.handle_symbol(now, symbol);
        if connection.has_restored() {
            self.restored.push(id);
        }
    }

    /// Returns true if packets may have been restored that are to be delivered.
    #[inline]
    pub(crate) fn has_restored(&self) -> bool {
        !self.restored.is_empty()
    }

    /// Takes the next packet that was restored, and how to deliver it. One that is refused is counted.
    pub(crate) fn take_restored(&mut self) -> Option<(AcceptedDatagram, Restored)> {
        loop {
            let &id = self.restored.last()?;
            let connection = self.connections.get_mut(id);
            let taken = connection.and_then(|it| Some((it.take_restored()?, it)));
            let Some((mut restored, connection)) = taken else {
                self.restored.pop();
                continue;
            };
            match connection.accept_restored(id, &mut restored) {
                Ok(accepted) => return Some((accepted, restored)),
                Err(reason) => connection.tally.datagram_drops.add(reason),
            }
        }
    }
}
