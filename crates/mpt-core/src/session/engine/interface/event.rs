//! The output of a [`Sessions`](crate::session::engine::Sessions): frames to send, and events.

use std::net::SocketAddr;

use mpt_wire::control::Reason;
use mpt_wire::control::hello::Kind;

use crate::liveness::State;
use crate::session::PublicKey;
use crate::session::engine::SessionId;
use crate::session::requests::{Failure, RequestError};
use crate::{ConnectionId, DeviceId, PathId, SocketId};

/// The destination of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Over a path, as its data does: from its (base) socket to its remote address.
    Path(PathId),
    /// From a socket to an address.
    Address {
        /// The socket.
        socket: SocketId,
        /// The address.
        remote: SocketAddr,
    },
}

/// A frame to be sent: the payload of a GRE packet of protocol type
/// [`CONTROL`](mpt_wire::gre::Protocol::CONTROL) without sequence number.
#[derive(Debug)]
pub struct Transmit {
    /// The destination.
    pub destination: Destination,
    /// The GRE key.
    pub key: Option<u32>,
    /// The frame. Give it back by [`Node::recycle`](crate::Node::recycle).
    pub frame: Vec<u8>,
}

/// A finding of a session about a path, which the owner of the sockets follows at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// The state of a path has changed.
    State {
        /// The session.
        session: SessionId,
        /// Its connection.
        connection: ConnectionId,
        /// The path.
        path: PathId,
        /// The sending direction.
        state: State,
        /// True if nothing arrives on it.
        silent: bool,
    },
    /// The other end of a path has another address now; it has been followed already.
    Moved {
        /// The path.
        path: PathId,
        /// The socket at which its packets arrive now, and from which they have to be sent.
        socket: SocketId,
        /// The address from which they arrive and to which they are sent.
        remote: SocketAddr,
    },
    /// A search has found that a path carries other outer packets than it was used with; it has been
    /// knows it already.
    Mtu {
        /// The path.
        path: PathId,
        /// The path MTU in bytes so far,
        before: u16,
        /// and from now on.
        found: u16,
        /// The device whose inner MTU has changed, and the new one in bytes.
        device: Option<(DeviceId, u16)>,
    },
}

/// An event that others have to know or to decide about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The two ends have keys: for the first time, or after the peer was gone or has forgotten the
    /// connection.
    Established {
        /// The session. A new one if the peer opened it.
        session: SessionId,
        /// The peer.
        peer: PublicKey,
        /// The name of the session: that of the configuration, or the one the peer gave.
        name: String,
        /// The purpose of the session.
        kind: Kind,
        /// True if the responder of the handshake has a connection for it.
        attached: bool,
        /// True if this end began the handshake.
        initiator: bool,
    },
    /// The peer asks for something: to be answered by [`Node::answer`](crate::Node::answer).
    Request {
        /// The session.
        session: SessionId,
        /// To be given with the answer.
        id: u32,
        /// The request of the peer.
        body: Vec<u8>,
    },
    /// The answer to [`Node::request`](crate::Node::request) has come.
    Result {
        /// The session.
        session: SessionId,
        /// The number that `request` returned.
        id: u32,
        /// The answer.
        result: Result<Vec<u8>, RequestFailed>,
    },
    /// The session is over. One of the configuration goes on and waits for the peer, or tries to
    /// reach it; any other one exists no longer, and its connection should not either.
    Closed {
        /// The session.
        session: SessionId,
        /// The connection that it had.
        connection: Option<ConnectionId>,
        /// The reason for its end.
        reason: CloseReason,
    },
    /// Data of the session is to be sealed, and the peer does not seal. Told once, until it is otherwise.
    Unsealed {
        /// The session.
        session: SessionId,
        /// The peer.
        peer: PublicKey,
        /// There is no data. Otherwise it is neither encrypted nor authenticated.
        refused: bool,
    },
    /// No path of a session that the peer opened was usable for a long time. Its connection should
    /// be removed, and then the session by [`Node::close_session`](crate::Node::close_session).
    Expired {
        /// The session.
        session: SessionId,
        /// Its connection.
        connection: Option<ConnectionId>,
    },
}

/// The reason for which a request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefused {
    /// There is no such session.
    #[error("there is no such session")]
    NoSession,
    /// It is longer or there are more than there may be.
    #[error(transparent)]
    Refused(#[from] RequestError),
}

/// The reason for which a request has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFailed {
    /// No result arrived, or not all of it.
    #[error(transparent)]
    Unanswered(#[from] Failure),
    /// The session is over.
    #[error("the session is over")]
    Closed,
}

/// The reason for which a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The peer said goodbye.
    Goodbye(Reason),
    /// The peer opened it, and no connection was attached in time.
    NotAttached,
    /// The peer opened it, and its keys have expired.
    Silent,
    /// The peer opened it, and may no longer ([`Node::set_peers`](crate::Node::set_peers)).
    Revoked,
    /// The peer opened it, and this end has ended it
    /// ([`Node::refuse_session`](crate::Node::refuse_session)).
    Ended,
}
