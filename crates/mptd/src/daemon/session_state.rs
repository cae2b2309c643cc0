//! The daemon's memory of sessions.

use std::collections::BTreeMap;
use std::time::Instant;

use mpt_config as config;
use mpt_core::session::{PublicKey, SessionId};
use mpt_wire::control::Kind;

/// The state of sessions that the daemon keeps.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Sessions that their peers opened, by who they are.
    pub(super) opened: BTreeMap<SessionId, Opened>,
    /// Our requests that were not answered yet, each with the name of its connection.
    pub(super) asked: BTreeMap<(SessionId, u32), String>,
    /// Connections that the server refused, and when to ask again.
    pub(super) refused: BTreeMap<String, Instant>,
    /// The number of clients that have networks behind them that are routed.
    pub(super) routed: usize,
    /// The peers of configured connections whose sessions are established, by the connection's name.
    pub(super) established: BTreeMap<String, config::Peer>,
}

/// A session that its peer opened.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) peer: PublicKey,
    pub(super) kind: Kind,
    /// The name that the peer gives the session; of one of kind joining it is the name of the token.
    pub(super) called: String,
    /// Name of its `[[client]]` or `[[controller]]` when it was opened: the file may have lost it since.
    pub(super) name: Option<String>,
    /// The connection that it had last, if that was removed before the session ended.
    pub(super) connection: Option<String>,
}
