//! The content of a datagram from a socket.

use std::ops::Range;

use crate::{ConnectionId, PathId, reorder};

/// The content of a datagram, and the offset at which it begins: the header is read only once.
#[derive(Clone, Debug)]
pub(crate) enum Received {
    /// An inner packet that passed all checks.
    Packet(AcceptedDatagram),
    /// A frame of a session.
    Frame(usize),
    /// A message of a prototype: no IP packet, but from the peer of a
    /// [`loose`](crate::ConnectionConfig::loose) connection over this path.
    Message(PathId, usize),
}

/// A datagram that passed all checks: what [`Tunnels::receive`](crate::Tunnels::receive) needs of it.
#[derive(Clone, Debug)]
pub(crate) struct AcceptedDatagram {
    pub(crate) connection: ConnectionId,
    /// The slot of the path in its connection.
    pub(crate) slot: u16,
    pub(crate) sequence: Option<u32>,
    /// True if another path has brought the same packet before.
    pub(crate) copy: bool,
    /// The class of the inner packet for the play-out.
    pub(crate) class: reorder::Class,
    /// True if the outer header says "congestion experienced".
    pub(crate) marked: bool,
    /// True if it is an ICMP error from outside the connection's networks, whose rate is limited.
    pub(crate) foreign_error: bool,
    pub(crate) inner: Range<usize>,
}

impl AcceptedDatagram {
    /// Returns the connection that the datagram came on.
    #[inline]
    pub(crate) fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// Returns where in the datagram the inner packet is.
    #[inline]
    pub(crate) fn inner(&self) -> Range<usize> {
        self.inner.clone()
    }
}
