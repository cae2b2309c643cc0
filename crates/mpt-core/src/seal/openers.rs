//! All keys for sealed packets that come in, by the index that the packets carry.

use rustc_hash::FxHashMap;

use super::Opener;
use crate::ConnectionId;

/// The keys of all connections: at most three of each, since a session has as many.
#[derive(Debug, Default)]
pub(crate) struct Openers {
    by_index: FxHashMap<u32, (ConnectionId, Box<Opener>)>,
}

impl Openers {
    /// Packets with the index of this opener belong to this connection from now on.
    pub(crate) fn insert(&mut self, connection: ConnectionId, opener: Box<Opener>) {
        self.by_index.insert(opener.index(), (connection, opener));
    }

    /// The keys of an index, and whose they are.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<(ConnectionId, &mut Opener)> {
        self.by_index.get_mut(&index).map(|(connection, opener)| (*connection, &mut **opener))
    }

    /// Erases the keys of an index. Returns whose they were.
    pub(crate) fn remove(&mut self, index: u32) -> Option<ConnectionId> {
        self.by_index.remove(&index).map(|(connection, _)| connection)
    }

    /// Erases all keys of a connection.
    pub(crate) fn remove_all_of(&mut self, connection: ConnectionId) {
        self.by_index.retain(|_, (owner, _)| *owner != connection);
    }
}
