//! A UDP socket that is a queue in and a queue out, and may be full.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::SystemTime;

use mpt_linux::udp::{Batch, MAX_BATCH_DATAGRAMS, PathError, Received};
use socket2::SockAddr;

use crate::data::system::BatchSocket;
use crate::data::system::token::Token;

/// A datagram on its way.
#[derive(Clone, Debug)]
pub(in crate::data::in_memory) struct Datagram {
    pub(in crate::data::in_memory) from: SocketAddr,
    pub(in crate::data::in_memory) to: SocketAddr,
    pub(in crate::data::in_memory) tos: u8,
    pub(in crate::data::in_memory) bytes: Vec<u8>,
}

/// The system's part of a socket.
#[derive(Debug)]
pub(in crate::data::in_memory) struct Queue {
    pub(in crate::data::in_memory) local: SocketAddr,
    /// The token under which the daemon is told of it, once it has asked.
    pub(super) token: Option<Token>,
    /// True if it is to be told of room.
    pub(super) watches_room: bool,
    /// The number of further datagrams that it takes.
    pub(in crate::data::in_memory) room: usize,
    /// The most bytes that are to wait to be read; more of them wait nevertheless.
    pub(in crate::data::in_memory) receive_buffer: usize,
    /// The datagrams that wait to be read, each with the time of its arrival by the system's clock.
    pub(in crate::data::in_memory) received: VecDeque<(SystemTime, Datagram)>,
    pub(in crate::data::in_memory) sent: Vec<Datagram>,
    /// The reports of the network about datagrams that were sent, each with the beginning of the datagram.
    pub(in crate::data::in_memory) errors: VecDeque<(PathError, Vec<u8>)>,
}

/// The daemon's end of a socket.
#[derive(Debug)]
pub(in crate::data::in_memory) struct MemorySocket(
    pub(in crate::data::in_memory) Rc<RefCell<Queue>>,
);

impl BatchSocket for MemorySocket {
    fn send_batch(
        &self,
        remote: &SockAddr,
        tos: u8,
        datagram_len: usize,
        pieces: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        let mut queue = self.0.borrow_mut();
        let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        let datagrams: Vec<&[u8]> = bytes.chunks(datagram_len).collect();
        assert!(datagrams.len() <= MAX_BATCH_DATAGRAMS, "more than the kernel would take");
        let taken = datagrams.len().min(queue.room);
        if taken == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        queue.room -= taken;
        let (from, to) = (queue.local, remote.as_socket().expect("an address of the Internet"));
        let sent = datagrams[..taken].iter();
        let sent = sent.map(|bytes| Datagram { from, to, tos, bytes: bytes.to_vec() });
        queue.sent.extend(sent);
        Ok(taken)
    }

    fn send_batches<'a>(&self, batches: impl Iterator<Item = Batch<'a>>) -> usize {
        let mut sent = 0;
        for batch in batches {
            let len: usize = batch.pieces.iter().map(|piece| piece.len()).sum();
            if len.div_ceil(batch.datagram_len) > self.0.borrow().room {
                break;
            }
            let taken = self.send_batch(batch.remote, batch.tos, batch.datagram_len, batch.pieces);
            sent += usize::from(taken.is_ok());
        }
        sent
    }

    /// Receives as the kernel does with `UDP_GRO`: datagrams of one sender in a row, of equal length but for the last, as one.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let received = &mut self.0.borrow_mut().received;
        let (stamp, first) = received.pop_front().ok_or(ErrorKind::WouldBlock)?;
        let datagram_len = first.bytes.len();
        buffer[..datagram_len].copy_from_slice(&first.bytes);
        let mut len = datagram_len;
        while let Some((_, next)) = received.front()
            && (next.from, next.tos) == (first.from, first.tos)
            && next.bytes.len() <= datagram_len
            && len + next.bytes.len() <= buffer.len()
            && len < MAX_BATCH_DATAGRAMS * datagram_len
        {
            let end = len + next.bytes.len();
            buffer[len..end].copy_from_slice(&next.bytes);
            let shorter = next.bytes.len() < datagram_len;
            len = end;
            received.pop_front();
            if shorter {
                break;
            }
        }
        let (source, tos, stamp) = (first.from, first.tos, Some(stamp));
        Ok(Received { len, datagram_len, source, tos, stamp, truncated: false })
    }

    fn receive_fill(&self) -> io::Result<f64> {
        let queue = self.0.borrow();
        let taken: usize = queue.received.iter().map(|(_, datagram)| datagram.bytes.len()).sum();
        Ok(taken as f64 / queue.receive_buffer as f64)
    }

    fn take_error(&self, buffer: &mut [u8]) -> io::Result<Option<PathError>> {
        let Some((error, quote)) = self.0.borrow_mut().errors.pop_front() else { return Ok(None) };
        let quoted = quote.len().min(buffer.len());
        buffer[..quoted].copy_from_slice(&quote[..quoted]);
        Ok(Some(PathError { quoted, ..error }))
    }

    fn set_mark(&self, _: Option<u32>) -> io::Result<()> {
        Ok(())
    }

    fn local(&self) -> SocketAddr {
        self.0.borrow().local
    }
}
