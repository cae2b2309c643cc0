//! Messages of sessions and prototypes on their way out: those of a round leave together, by one system call for each socket.

use std::io::IoSlice;

use mpt_core::SocketId;
use mpt_core::node::{Destination, Transmit};
use mpt_linux::udp::{Batch, MAX_BATCHES};
use socket2::SockAddr;

use super::Sockets;
use super::message::{Message, Messages};
use crate::data::DataPath;
use crate::data::paths::table::PathTable;
use crate::data::system::{BatchSocket, System};

impl<S: System> DataPath<S> {
    /// Sends all messages there are. One that finds no room in its socket is lost, as on the way: all that matters is repeated.
    pub(in crate::data) fn send_messages(&mut self) {
        let Self { messages: Messages { gathered }, node, paths, sockets, prototypes, .. } = self;
        loop {
            while gathered.len() < MAX_BATCHES
                && let Some(transmit) = node.poll_transmit()
            {
                count(&transmit, paths);
                match addressed(&transmit, paths) {
                    Some((socket, remote)) => {
                        gathered.push(Message { socket, remote, transmit });
                    }
                    None => {
                        prototypes.send(&transmit);
                        node.recycle(transmit);
                    }
                }
            }
            if gathered.is_empty() {
                return;
            }
            send_together(gathered, sockets);
            gathered.drain(..).for_each(|it| node.recycle(it.transmit));
        }
    }
}

/// Adds a message to what its path has carried.
fn count(transmit: &Transmit, paths: &mut PathTable) {
    if let Destination::Path(path) = transmit.destination
        && let Some(io) = paths.get_mut(path)
    {
        io.messages.count += 1;
        io.messages.bytes += transmit.len() as u64;
    }
}

/// Returns the data socket from which a message goes, and its destination.
fn addressed(transmit: &Transmit, paths: &PathTable) -> Option<(SocketId, SockAddr)> {
    match transmit.destination {
        Destination::Path(path) => {
            let (socket, remote) = paths.get(path)?.base();
            Some((socket, remote.clone()))
        }
        Destination::Address { socket, remote } => Some((socket, remote.into())),
        Destination::Command { .. } | Destination::CommandAnswer { .. } => None,
    }
}

/// Sends messages, those of one socket at a time, in their order: at most [`MAX_BATCHES`].
fn send_together(messages: &[Message], sockets: &Sockets<impl System>) {
    for (place, first) in messages.iter().enumerate() {
        let same = |it: &&Message| it.socket == first.socket;
        if messages[..place].iter().any(|it| same(&it)) {
            continue;
        }
        let Some(socket) = sockets.socket(first.socket) else { continue };
        let mut pieces = [[IoSlice::new(&[]); 2]; MAX_BATCHES];
        let mut count = 0;
        for message in messages.iter().filter(same) {
            pieces[count] = message.transmit.pieces().map(IoSlice::new);
            count += 1;
        }
        let batches = || {
            messages.iter().filter(same).zip(&pieces).map(|(message, pieces)| Batch {
                remote: &message.remote,
                tos: 0,
                datagram_len: message.transmit.len(),
                pieces,
            })
        };
        let mut sent = 0;
        while sent < count {
            sent += if count - sent > 1 { socket.send_batches(batches().skip(sent)) } else { 0 };
            // A message that is alone, or meets an error, is sent by itself.
            if let Some(it) = batches().nth(sent) {
                let _ = socket.send_batch(it.remote, it.tos, it.datagram_len, it.pieces);
                sent += 1;
            }
        }
    }
}
