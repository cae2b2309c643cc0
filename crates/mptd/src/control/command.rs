//! Commands of the control socket to the daemon. Each is answered through its `reply`, which is dropped where there is no answer.

use std::time::Duration;

use mpt_api::{Changed, Failure, Measured, PathChange, Reloaded, Snapshot};
use tokio::sync::oneshot;

/// The way back for the one answer to a command: the result, or the reason why nothing was done.
pub type Answer<T> = oneshot::Sender<Result<T, Failure>>;

/// One request of a client that speaks the right version and whose values are in range.
#[derive(Debug)]
pub enum Command {
    /// Everything as it stands now.
    Show {
        /// The connection to which the answer is restricted, with its device; may not exist ([`mpt_api::Code::NotFound`]).
        connection: Option<String>,
        /// The snapshot.
        reply: Answer<Snapshot>,
    },
    /// Changes one path; it takes effect with the next packet.
    SetPath {
        /// Name of the connection; may not exist ([`mpt_api::Code::NotFound`]).
        connection: String,
        /// Name of the path; may not exist either.
        path: String,
        /// The change; not empty.
        change: PathChange,
        /// Done.
        reply: Answer<()>,
    },
    /// Lists the clients and the connections that they have.
    Clients {
        /// The list.
        reply: Answer<mpt_api::Clients>,
    },
    /// Makes a token with which a host may join.
    AddToken {
        /// The rights and networks of its owner.
        wanted: crate::clients::tokens::Wanted,
        /// The token, with its secret.
        reply: Answer<mpt_api::Token>,
    },
    /// Lists the tokens.
    Tokens {
        /// The list.
        reply: Answer<mpt_api::Tokens>,
    },
    /// Reads the configuration file again and applies the difference.
    Reload {
        /// The changes; [`mpt_api::Code::Config`] with the errors of a bad file, which changes nothing.
        reply: Answer<Reloaded>,
    },
    /// Changes what there is: paths, connections, keepalives.
    Change {
        /// The change.
        change: Change,
        /// The changes that were made.
        reply: Answer<Changed>,
    },
    /// Measures the paths of a connection and proposes weights.
    Measure {
        /// Name of the connection; may not exist.
        connection: String,
        /// True if the weights are set as proposed.
        set: bool,
        /// Length of the test of one path in one direction; within [`mpt_api::MEASURE_MS`].
        duration: Duration,
        /// The speeds that were measured.
        reply: Answer<Measured>,
    },
}

/// A change at run time. Names may be of things that do not exist ([`mpt_api::Code::NotFound`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Adds a path.
    AddPath {
        /// Name of the connection.
        connection: String,
        /// The keys of one `[[connection.path]]`.
        toml: String,
    },
    /// Removes a path.
    DeletePath {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
    },
    /// Takes all paths on an interface up or down.
    SetInterface {
        /// Name of the interface.
        interface: String,
        /// True for up, false for down.
        up: bool,
    },
    /// Creates a connection.
    CreateConnection {
        /// One `[[connection]]` with its sub-tables.
        toml: String,
    },
    /// Removes a connection.
    DeleteConnection {
        /// Its name.
        connection: String,
    },
    /// Ends the sessions and connections of a client.
    DisconnectClient {
        /// Name of the `[[client]]`.
        client: String,
    },
    /// Takes a token back.
    RevokeToken {
        /// Its name.
        token: String,
    },
    /// Writes a connection into the configuration file.
    SaveConnection {
        /// Its name.
        connection: String,
    },
    /// Changes the probe interval.
    SetKeepalive {
        /// Name of the connection.
        connection: String,
        /// Name of the path; `None`: all.
        path: Option<String>,
        /// Probe interval; zero: no probes.
        keepalive: Duration,
    },
}
