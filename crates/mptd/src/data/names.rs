//! From the names of the configuration to what the endpoint knows.

use std::collections::BTreeMap;

use mpt_core::{ConnectionId, DeviceId, PathId};

/// Names of everything that exists.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// TUN devices.
    pub devices: BTreeMap<String, DeviceId>,
    /// Connections.
    pub connections: BTreeMap<String, ConnectionNames>,
}

/// A connection and its paths.
#[derive(Clone, Debug)]
pub struct ConnectionNames {
    /// The connection.
    pub id: ConnectionId,
    /// Its paths.
    pub paths: BTreeMap<String, PathId>,
}

impl Names {
    /// The connection and path of these names.
    #[must_use]
    pub fn path(&self, connection: &str, path: &str) -> Option<(ConnectionId, PathId)> {
        let connection = self.connections.get(connection)?;
        Some((connection.id, *connection.paths.get(path)?))
    }
}
