//! Messages on their way out: frames of sessions, and messages to prototypes.

use std::net::SocketAddr;

use mpt_wire::gre;

use super::Node;
use crate::{PathId, SocketId, compat, session};

/// The destination of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A path, as for its data: from its (base) socket to its remote address.
    Path(PathId),
    /// An address, from a socket.
    Address {
        /// The socket.
        socket: SocketId,
        /// The address.
        remote: SocketAddr,
    },
    /// A prototype, from the command socket of a path.
    Command {
        /// The path.
        path: PathId,
        /// The prototype's address.
        remote: SocketAddr,
    },
    /// The address that a command came from, from the command socket on which it came.
    CommandAnswer {
        /// The socket.
        socket: SocketId,
        /// The address.
        remote: SocketAddr,
    },
}

/// A UDP payload to be sent, in two pieces.
#[derive(Debug)]
pub struct Transmit {
    /// The destination.
    pub destination: Destination,
    header: [u8; gre::MAX_HEADER_LEN],
    header_len: usize,
    body: Vec<u8>,
}

impl Transmit {
    /// Returns the GRE header, which may be empty, and what follows it.
    #[inline]
    #[must_use]
    pub fn pieces(&self) -> [&[u8]; 2] {
        [&self.header[..self.header_len], &self.body]
    }

    /// Returns the number of bytes of both pieces.
    #[inline]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.header_len + self.body.len()
    }

    /// Returns both pieces in one.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.pieces().concat()
    }

    fn of_session(transmit: session::Transmit) -> Self {
        let repr = gre::Repr::control(transmit.key);
        let (mut header, header_len) = ([0; gre::MAX_HEADER_LEN], repr.header_len());
        repr.emit(&mut header[..header_len]);
        let destination = match transmit.destination {
            session::Destination::Path(path) => Destination::Path(path),
            session::Destination::Address { socket, remote } => {
                Destination::Address { socket, remote }
            }
        };
        Self { destination, header, header_len, body: transmit.frame }
    }

    fn to_prototype(transmit: compat::Transmit) -> Self {
        let destination = match transmit.destination {
            compat::Destination::Data(path) => Destination::Path(path),
            compat::Destination::Command { path, remote } => Destination::Command { path, remote },
            compat::Destination::Answer { socket, remote } => {
                Destination::CommandAnswer { socket, remote }
            }
        };
        let header = [0; gre::MAX_HEADER_LEN];
        Self { destination, header, header_len: 0, body: transmit.bytes }
    }
}

impl<P: Copy> Node<P> {
    /// Takes the next message to be sent. A message that finds no room in its socket may be
    /// dropped, as if it were lost on the way: whatever matters is repeated. The owner gives its
    /// memory back by [`Self::recycle`].
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.follow_changes();
        if let Some(transmit) = self.sessions.poll_transmit() {
            return Some(Transmit::of_session(transmit));
        }
        self.prototypes.poll_transmit().map(Transmit::to_prototype)
    }

    /// Takes back the memory of a message.
    pub fn recycle(&mut self, transmit: Transmit) {
        self.sessions.recycle(transmit.body);
    }
}
