//! Symbols of forward error correction: those that are sent, and those that come.

use std::time::Instant;

use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::{Message, Symbol, Writer};

use super::asking::AROUND;
use crate::session::engine::Sessions;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::shared::Shared;
use crate::{ConnectionId, Tunnels};

impl Session {
    /// Protects data from now on if the peer restores it, or no longer.
    pub(crate) fn follow_correction<P: Copy>(&self, id: ConnectionId, tunnels: &mut Tunnels<P>) {
        let restores = self.keys.current.as_ref().is_some_and(|keys| keys.restores);
        tunnels.set_peer_restores(id, restores);
    }

    /// Sends the symbol that is due.
    fn send_symbol<P: Copy>(
        &mut self,
        now: Instant,
        id: ConnectionId,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some((path, ready)) = tunnels.take_symbol(now, id) else { return };
        let Some(place) = self.keys.sending(now) else { return };
        let Some(at) = self.paths.iter().position(|it| it.id == path) else { return };
        let Some((wire_id, destination)) = self.way(place, at) else { return };
        let symbol = ready.symbol();
        let mut len = 0;
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            let written = writer.push(&Message::Symbol(symbol)).is_ok();
            len = writer.len();
            written
        };
        if self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN) {
            tunnels.symbol_sent(now, id, path, (len as u64, AROUND));
        }
    }

    /// The peer has sent a symbol.
    pub(crate) fn handle_symbol<P: Copy>(
        &self,
        now: Instant,
        symbol: &Symbol<'_>,
        tunnels: &mut Tunnels<P>,
    ) {
        if let Some(id) = self.link.connection() {
            tunnels.handle_symbol(now, id, symbol);
        }
    }
}

impl Sessions {
    /// A symbol of a connection is due ([`Tunnels::next_symbol`]).
    pub(crate) fn send_symbol<P: Copy>(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        tunnels: &mut Tunnels<P>,
    ) {
        let slot = self.by_connection.get(&connection);
        let session = slot.and_then(|&slot| self.sessions.get_mut(slot as usize)?.as_mut());
        match session {
            Some(session) => session.send_symbol(now, connection, &mut self.shared, tunnels),
            // Nobody can send it.
            None => tunnels.set_peer_restores(connection, false),
        }
    }
}
