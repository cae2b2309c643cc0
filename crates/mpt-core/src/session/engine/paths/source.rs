//! The address that a frame came from.

use std::net::SocketAddr;

use crate::SocketId;

/// The socket that a frame arrived on, and the address that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) socket: SocketId,
    pub(crate) remote: SocketAddr,
}
