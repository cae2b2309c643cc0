//! The command sockets of connections whose peer is the papers' prototype.

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::net::SocketAddr;

use mpt_core::node::{Destination, Transmit};
use mpt_core::{PathId, SocketId};

use super::{SocketKey, Sockets};
use crate::data::system::token::Token;
use crate::data::system::{BatchSocket, System};
use crate::data::{ChangeError, Wanted};

/// The command sockets.
pub(in crate::data) struct Prototypes<S: System> {
    pub(in crate::data) sockets: Sockets<S>,
    /// The socket on which each path takes commands and sends its own.
    pub(in crate::data) by_path: BTreeMap<PathId, SocketId>,
    pub(in crate::data) buffer: Vec<u8>,
}

/// Command sockets on the way from one set of connections to the next: by connection and path.
pub(in crate::data) struct CommandSockets(pub(in crate::data) BTreeMap<(String, String), SocketId>);

impl<S: System> Prototypes<S> {
    /// Returns a set without sockets.
    pub(in crate::data) fn new() -> Self {
        Self { sockets: Sockets::of(Token::Command), by_path: BTreeMap::new(), buffer: Vec::new() }
    }

    /// Opens the command sockets of all connections that have some; on an error none is.
    pub(in crate::data) fn open(
        &mut self,
        system: &S,
        wanted: &[Wanted],
    ) -> Result<CommandSockets, ChangeError> {
        let mut opened = CommandSockets(BTreeMap::new());
        for Wanted { config: connection, .. } in wanted {
            let Some(compat) = &connection.compat else { continue };
            for path in &connection.paths {
                let local = path.bound();
                let key = SocketKey { local, interface: path.interface.clone(), checksum: true };
                match self.sockets.open(system, &key, compat.command_port) {
                    Ok(id) => opened.0.insert((connection.name.clone(), path.name.clone()), id),
                    Err(source) => {
                        self.close(system, opened);
                        return Err(ChangeError::Bind {
                            connection: connection.name.clone(),
                            path: path.name.clone(),
                            local: SocketAddr::new(local, compat.command_port),
                            source,
                        });
                    }
                };
            }
        }
        Ok(opened)
    }

    /// Closes sockets that are not needed after all.
    pub(in crate::data) fn close(&mut self, system: &S, sockets: CommandSockets) {
        sockets.0.into_values().for_each(|id| self.sockets.close(system, id));
    }

    pub(in crate::data) fn set_mark(&mut self, mark: Option<u32>) -> std::io::Result<()> {
        self.sockets.set_mark(mark)
    }

    pub(in crate::data) fn reopen(&mut self, system: &S, interface: &str) -> std::io::Result<()> {
        self.sockets.reopen(system, interface)
    }

    /// Sends a command or an answer to one; others are not for these sockets. A message that finds no room in its socket is lost, as on the way: all
    /// that matters is repeated.
    pub(in crate::data) fn send(&self, transmit: &Transmit) {
        let (socket, remote) = match transmit.destination {
            Destination::Command { path, remote } => {
                let Some(&socket) = self.by_path.get(&path) else { return };
                (socket, remote)
            }
            Destination::CommandAnswer { socket, remote } => (socket, remote),
            Destination::Path(_) | Destination::Address { .. } => return,
        };
        if let Some(socket) = self.sockets.socket(socket) {
            let pieces = transmit.pieces().map(IoSlice::new);
            let _ = socket.send_batch(&remote.into(), 0, transmit.len(), &pieces);
        }
    }
}
