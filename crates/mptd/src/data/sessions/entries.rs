//! The sessions of the configured connections.

use std::collections::BTreeMap;

use mpt_config as config;
use mpt_core::SocketId;
use mpt_core::session::SessionId;

/// Sessions of the configured connections, by the connection's name, and the sockets of those that have none of their own.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pub(super) by_connection: BTreeMap<String, Entry>,
    /// The sockets on which clients and controllers reach this host, whether or not there are any.
    pub(super) listeners: Vec<SocketId>,
}

/// The session of a configured connection.
#[derive(Debug)]
pub(in crate::data) struct Entry {
    pub(in crate::data) id: SessionId,
    pub(in crate::data) peer: config::Peer,
    /// Numbers of the paths, by name. Those of paths that are gone are not given again.
    pub(in crate::data) numbers: BTreeMap<String, u16>,
}

impl Entry {
    /// True if the session is with this peer, under the same pre-shared key.
    pub(super) fn is_with(&self, peer: &config::Peer) -> bool {
        (self.peer.public_key, &self.peer.psk) == (peer.public_key, &peer.psk)
    }
}
