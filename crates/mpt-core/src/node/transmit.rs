//! Messages on their way out: frames of sessions, and what is said to prototypes.

use std::net::SocketAddr;

use mpt_wire::gre;

use super::Node;
use crate::{PathId, SocketId, compat, session};

/// Where a message goes.
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
    /// From the command socket of a path to a prototype.
    Command {
        /// The path.
        path: PathId,
        /// The prototype's address.
        remote: SocketAddr,
    },
    /// From the command socket on which a command came to where it came from.
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
    /// Where to.
    pub destination: Destination,
    header: [u8; gre::MAX_HEADER_LEN],
    header_len: usize,
    body: Vec<u8>,
}

impl Transmit {
    /// The GRE header, which may be empty, and what follows it.
    #[inline]
    #[must_use]
    pub fn pieces(&self) -> [&[u8]; 2] {
        [&self.header[..self.header_len], &self.body]
    }

    /// Bytes of both.
    #[inline]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.header_len + self.body.len()
    }

    /// Both in one piece.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.pieces().concat()
    }

    fn of_session(transmit: session::Transmit) -> Self {
        let repr = gre::Repr {
            protocol: gre::Protocol::CONTROL,
            checksum: false,
            key: transmit.key,
            sequence: None,
        };
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
    /// The next message to be sent. One that finds no room in its socket may be dropped, as if it were
    /// lost on the way: all that matters is repeated. Its memory is to be given back
    /// ([`Self::recycle`]).
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
