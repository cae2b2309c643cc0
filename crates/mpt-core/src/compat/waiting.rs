//! Messages and events that wait for the caller.

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::event::{Event, PathEvent};
use crate::{PathId, SocketId};

/// Messages that may wait to be sent; more are dropped, whatever is needed is repeated.
const MAX_WAITING: usize = 1024;
/// Events that may wait for the owner. A peer without authentication can cause them at any rate; the oldest make room.
const MAX_EVENTS: usize = 256;

/// The destination of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// From the data socket of a path to its remote data port.
    Data(PathId),
    /// From the command socket of a path to the peer's.
    Command {
        /// The path.
        path: PathId,
        /// The peer.
        remote: SocketAddr,
    },
    /// From the socket on which a command came to where it came from.
    Answer {
        /// The socket.
        socket: SocketId,
        /// The peer.
        remote: SocketAddr,
    },
}

/// A UDP payload to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The destination.
    pub destination: Destination,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// The output that waits for the caller.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) transmits: VecDeque<Transmit>,
    pub(super) path_events: VecDeque<PathEvent>,
    pub(super) events: VecDeque<Event>,
}

impl Waiting {
    /// Queues a message, unless there are too many.
    pub(super) fn send(&mut self, destination: Destination, bytes: Vec<u8>) {
        if self.transmits.len() < MAX_WAITING {
            self.transmits.push_back(Transmit { destination, bytes });
        }
    }

    /// Queues an event in place of the oldest one where [`MAX_EVENTS`] wait.
    pub(super) fn tell(&mut self, event: Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}
