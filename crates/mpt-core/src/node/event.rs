//! The events of a node: what the owner of the sockets has to follow, and what others have to
//! decide.

use crate::{PathId, Transition, compat, session};

/// An event of a path. The owner of the sockets follows it at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// The session of the path found out something about it.
    Session(session::PathEvent),
    /// A prototype was heard on the path, fell silent, or reported the state of the path.
    Prototype(PathId),
    /// The state of the path for sending has changed, whatever made the change: the administrator,
    /// the system, or the peer.
    State(Transition),
}

/// An event for others to know or to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event of a session.
    Session(session::Event),
    /// An event of a connection with a prototype at the other end.
    Prototype(compat::Event),
}
