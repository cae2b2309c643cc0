//! The daemon's memory of sessions.

use std::collections::BTreeMap;
use std::time::Instant;

use mpt_config as config;
use mpt_core::session::{PublicKey, SessionId};
use mpt_wire::control::Kind;

/// The state of sessions that the daemon keeps.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Sessions {
    /// The sessions that their peers opened.
    pub(in crate::daemon) opened: BTreeMap<SessionId, Opened>,
    /// The requests of this host that are not answered yet, each with the name of its connection.
    pub(in crate::daemon) asked: BTreeMap<(SessionId, u32), String>,
    /// The connections that the server refused, each with the time at which to ask again.
    pub(in crate::daemon) refused: BTreeMap<String, Instant>,
    /// The number of clients that have networks behind them that are routed.
    pub(in crate::daemon) routed: usize,
    /// The peers of configured connections whose sessions are established, by the connection's name.
    pub(in crate::daemon) established: BTreeMap<String, config::Peer>,
}

/// A session that its peer opened.
#[derive(Clone, Debug)]
pub(in crate::daemon) struct Opened {
    pub(in crate::daemon) peer: PublicKey,
    pub(in crate::daemon) kind: Kind,
    /// The name that the peer gives the session; of one of kind joining it is the name of the token.
    pub(in crate::daemon) called: String,
    /// Name of its `[[client]]` or `[[controller]]` when it was opened: the file may have lost it since.
    pub(in crate::daemon) name: Option<String>,
    /// The connection that it had last, if that was removed before the session ended.
    pub(in crate::daemon) connection: Option<String>,
}
