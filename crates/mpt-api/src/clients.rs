//! The clients of a server, each with the connections that it has.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// All clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clients {
    /// One for each `[[client]]`, in the order of the configuration, whether or not it is connected.
    pub clients: Vec<Client>,
}

/// One client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// Name of its `[[client]]`.
    pub name: String,
    /// Its public key in base64.
    pub public_key: String,
    /// The connections that it has now. Empty: it is not connected.
    pub connections: Vec<ClientConnection>,
}

/// A connection of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientConnection {
    /// Name of the connection, as everywhere: that of the client, a dot, and the name that the client gave it.
    pub name: String,
    /// Inner addresses that the client has.
    pub addresses: Vec<IpAddr>,
    /// Networks behind the client.
    pub networks: Vec<IpNet>,
    /// Whole seconds since the connection was created.
    pub created_s: u64,
    /// Number of its paths.
    pub paths: u16,
    /// The number of them that are up.
    pub paths_up: u16,
}
