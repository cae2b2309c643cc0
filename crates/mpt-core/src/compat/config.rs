//! The configuration of a connection to a prototype.

use std::net::IpAddr;
use std::time::Duration;

use super::Authentication;
use crate::PathId;

/// A connection whose other end is a prototype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Unique.
    pub name: String,
    /// Address of this end in the tunnel.
    pub local: IpAddr,
    /// Address of the other end in the tunnel, of the same IP version.
    pub remote: IpAddr,
    /// UDP port on which the other end takes commands.
    pub command_port: u16,
    /// The authentication of commands.
    pub authentication: Authentication,
    /// Distance of the keepalives that we send on every path; zero: none.
    pub keepalive: Duration,
    /// A path on which nothing was heard so long is taken out of use; zero: never.
    pub dead: Duration,
    /// The part of the connection in creations, if it takes any.
    pub create: Option<Create>,
    /// Its paths, in the order in which they are tried for commands.
    pub paths: Vec<PathConfig>,
}

/// A path of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathConfig {
    /// Its identity.
    pub id: PathId,
    /// Its name.
    pub name: String,
    /// Our address of the path, as the other end knows it.
    pub public: IpAddr,
    /// The other end's address of the path.
    pub remote: IpAddr,
    /// True if it can be used from here: neither the administrator nor its interface says otherwise.
    pub usable: bool,
}

/// The part of a connection in creations, and its description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// Digests with the key of creations: that of the server's `conf.template`.
    pub authentication: Authentication,
    /// True if we ask the other end; else we answer it.
    pub ask: bool,
    /// UDP port on which we take data.
    pub data_port: u16,
    /// UDP port on which the other end does.
    pub remote_data_port: u16,
    /// UDP port on which we take commands.
    pub command_port: u16,
    /// Receive window in packets.
    pub window: u16,
    /// The longest a packet waits in it.
    pub max_delay: Duration,
    /// The weights of each path in the order of the configuration: of this end, and of the peer.
    pub weights: Vec<(u16, u16)>,
}
