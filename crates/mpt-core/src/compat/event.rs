//! Events of connections with prototypes.

use super::create::code;
use crate::PathId;

/// The state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathEvent {
    /// The path.
    pub path: PathId,
    /// True if nothing has arrived on the path for too long.
    pub silent: bool,
    /// The peer said that it is down.
    pub told_down: bool,
}

/// An event that others have to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection was to be created, by us or by the peer.
    Created {
        /// Name of the connection.
        connection: String,
        /// True if we asked; else we answered.
        asked: bool,
        /// The outcome of the command.
        outcome: Outcome,
        /// The data port of the peer, if it gave one.
        data_port: Option<u16>,
    },
    /// The peer was told how a path is.
    Told {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
        /// True if it is up.
        up: bool,
        /// The outcome of the command.
        outcome: Outcome,
    },
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The peer carried it out.
    Done,
    /// The peer refused it, with this return code.
    Refused(u8),
    /// The peer did not answer, over any path.
    Unanswered,
}

impl Outcome {
    /// By the return code of an answer.
    pub(super) fn of(code: u8) -> Self {
        match code {
            code::OK => Self::Done,
            code => Self::Refused(code),
        }
    }
}
