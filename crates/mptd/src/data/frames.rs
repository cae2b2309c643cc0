//! Frames of the control protocol on their way out: those of a round leave together, by one system call for each socket.

use std::io::IoSlice;

use mpt_core::SocketId;
use mpt_core::control::{Control, Destination, Transmit};
use mpt_linux::udp::{Batch, MAX_BATCHES};
use mpt_wire::gre;
use socket2::SockAddr;

use super::path::PathIo;
use super::sockets::Sockets;

/// A frame that knows its way.
#[derive(Debug)]
struct Frame {
    socket: SocketId,
    remote: SockAddr,
    header: [u8; gre::MAX_HEADER_LEN],
    header_len: usize,
    frame: Vec<u8>,
}

/// The frames of one call.
#[derive(Debug)]
pub(super) struct Frames {
    gathered: Vec<Frame>,
}

impl Default for Frames {
    fn default() -> Self {
        Self { gathered: Vec::with_capacity(MAX_BATCHES) }
    }
}

impl Frames {
    /// Sends all that the engine has to send. A frame that finds no room in its socket is lost, as on the way: all that matters is repeated.
    pub(super) fn send(
        &mut self,
        control: &mut Control,
        paths: &[Option<PathIo>],
        sockets: &Sockets,
    ) {
        loop {
            while self.gathered.len() < MAX_BATCHES
                && let Some(transmit) = control.poll_transmit()
            {
                match addressed(&transmit, paths) {
                    Some((socket, remote)) => {
                        self.gathered.push(Frame::new(transmit, socket, remote));
                    }
                    None => control.recycle(transmit.frame),
                }
            }
            if self.gathered.is_empty() {
                return;
            }
            send_together(&self.gathered, sockets);
            self.gathered.drain(..).for_each(|it| control.recycle(it.frame));
        }
    }
}

/// Where a frame goes, and from which socket.
fn addressed(transmit: &Transmit, paths: &[Option<PathIo>]) -> Option<(SocketId, SockAddr)> {
    match transmit.destination {
        Destination::Path(path) => {
            let (socket, remote) = paths.get(path.0 as usize)?.as_ref()?.base();
            Some((socket, remote.clone()))
        }
        Destination::Address { socket, remote } => Some((socket, remote.into())),
    }
}

/// Those of one socket at a time, in their order. At most [`MAX_BATCHES`].
fn send_together(frames: &[Frame], sockets: &Sockets) {
    for (place, first) in frames.iter().enumerate() {
        let same = |it: &&Frame| it.socket == first.socket;
        if frames[..place].iter().any(|it| same(&it)) {
            continue;
        }
        let Some(socket) = sockets.socket(first.socket) else { continue };
        let mut pieces = [[IoSlice::new(&[]); 2]; MAX_BATCHES];
        let mut count = 0;
        for frame in frames.iter().filter(same) {
            pieces[count] = frame.pieces();
            count += 1;
        }
        let batches = || {
            frames.iter().filter(same).zip(&pieces).map(|(frame, pieces)| Batch {
                remote: &frame.remote,
                tos: 0,
                datagram_len: frame.header_len + frame.frame.len(),
                pieces,
            })
        };
        let mut sent = 0;
        while sent < count {
            sent += if count - sent > 1 { socket.send_batches(batches().skip(sent)) } else { 0 };
            // What is alone, or meets an error.
            if let Some(it) = batches().nth(sent) {
                let _ = socket.send_batch(it.remote, it.tos, it.datagram_len, it.pieces);
                sent += 1;
            }
        }
    }
}

impl Frame {
    fn new(transmit: Transmit, socket: SocketId, remote: SockAddr) -> Self {
        let repr = gre::Repr {
            protocol: gre::Protocol::CONTROL,
            checksum: false,
            key: transmit.key,
            sequence: None,
        };
        let (mut header, header_len) = ([0; gre::MAX_HEADER_LEN], repr.header_len());
        repr.emit(&mut header[..header_len]);
        Self { socket, remote, header, header_len, frame: transmit.frame }
    }

    fn pieces(&self) -> [IoSlice<'_>; 2] {
        [IoSlice::new(&self.header[..self.header_len]), IoSlice::new(&self.frame)]
    }
}
