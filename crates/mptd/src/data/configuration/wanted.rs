//! The connections that there are to be.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use mpt_config as config;
use mpt_core::ConfigError;
use mpt_core::session::{PublicKey, SessionId};
use thiserror::Error;

/// A path as configured, with what the system says of it.
#[derive(Clone, Debug)]
pub(crate) struct LinkFacts {
    /// The link's MTU in bytes.
    pub(crate) mtu: u16,
    /// True if its interface can carry packets now; never while it is not resolved.
    pub(crate) carrier: bool,
    /// True if it is known where the path leads.
    pub(crate) resolved: bool,
}

/// The state of the link of a path that exists, or existed a moment ago.
#[derive(Clone, Debug)]
pub(crate) struct PathLink {
    /// Name of its connection.
    pub(crate) connection: String,
    /// Its name.
    pub(crate) path: String,
    /// True if its MTU is configured, whatever the link has.
    pub(crate) fixed_mtu: bool,
    /// The facts that the system reports.
    pub(crate) facts: LinkFacts,
}

/// A connection as configured, with what the system says of the links of its paths, in the same order.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The connection as it is configured.
    pub(crate) config: config::Connection,
    /// One for each path.
    pub(crate) links: Vec<LinkFacts>,
    /// The session for which it was created; `None` for one of the configuration.
    pub(crate) client: Option<ClientSession>,
}

/// The reason why a change was refused. Nothing of it was done.
#[derive(Debug, Error)]
pub enum ChangeError {
    #[error("there is no connection \"{0}\"")]
    NoConnection(String),
    #[error("connection \"{connection}\" has no path \"{path}\"")]
    NoPath { connection: String, path: String },
    #[error("connection \"{connection}\", path \"{path}\": {error}")]
    Rates { connection: String, path: String, error: mpt_core::path::BadBounds },
    #[error("there is no device \"{0}\"")]
    NoDevice(String),
    #[error("connection \"{connection}\", path \"{path}\": cannot bind UDP {local}: {source}")]
    Bind { connection: String, path: String, local: SocketAddr, source: io::Error },
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("cannot listen for clients on UDP {local}: {source}")]
    Listen { local: SocketAddr, source: io::Error },
    #[error("cannot mark outer packets: {0}")]
    Mark(#[source] io::Error),
    #[error("cannot watch a descriptor: {0}")]
    Poll(#[from] io::Error),
}

/// The session that a client's connection belongs to.
#[derive(Clone, Debug)]
pub(crate) struct ClientSession {
    /// The session.
    pub(crate) id: SessionId,
    /// The client.
    pub(crate) owner: PublicKey,
    /// The client's numbers of the paths, with their names.
    pub(crate) paths: BTreeMap<u16, String>,
    /// The largest weight of its paths, whatever the client wishes.
    pub(crate) max_weight: u16,
}
