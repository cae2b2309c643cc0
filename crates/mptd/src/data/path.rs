//! The system's side of a path: its sockets, its peer's address, and the batches on their way to it.

use std::net::SocketAddr;
use std::time::Instant;

use mpt_core::SocketId;
use socket2::SockAddr;

use super::outbox::{Flushed, Outbox, SendCounters};
use super::sockets::Sockets;

/// One path's sockets and what waits to be sent on them.
#[derive(Debug)]
pub struct PathIo {
    /// Destination of the path's datagrams.
    pub remote: SocketAddr,
    destination: SockAddr,
    /// Where its packets arrive: the listening port and the source ports.
    pub listening: Vec<SocketId>,
    /// One, or with entropy source ports a pool.
    pub channels: Vec<Channel>,
}

/// One source port and the batch being gathered for it.
#[derive(Debug)]
pub struct Channel {
    /// The socket bound to that port.
    pub socket: SocketId,
    /// What is on its way.
    pub outbox: Outbox,
}

impl PathIo {
    /// A path to `remote` from the `sources`.
    #[must_use]
    pub fn new(remote: SocketAddr, listening: Vec<SocketId>, sources: &[SocketId]) -> Self {
        let channel = |&socket| Channel { socket, outbox: Outbox::new() };
        Self {
            remote,
            destination: remote.into(),
            listening,
            channels: sources.iter().map(channel).collect(),
        }
    }

    /// Which source port carries this flow: always the same one, so that routers on the way keep its order (RFC 8086 section 3.2.1).
    #[inline]
    #[must_use]
    pub fn channel_of(&self, flow_hash: u32) -> usize {
        match self.channels.len() {
            1 => 0,
            // Multiply-shift maps the hash evenly to 0..count.
            count => ((u64::from(flow_hash) * count as u64) >> 32) as usize,
        }
    }

    /// Sends what was gathered in one channel.
    pub fn flush(&mut self, now: Instant, channel: usize, sockets: &Sockets, arena: &[u8]) -> Flushed {
        let channel = &mut self.channels[channel];
        match sockets.socket(channel.socket) {
            Some(socket) => channel.outbox.flush(now, socket, &self.destination, arena),
            None => Flushed::Done,
        }
    }

    /// Sends what waits in a channel whose socket has room again.
    pub fn retry(&mut self, now: Instant, channel: usize, sockets: &Sockets) -> Flushed {
        let channel = &mut self.channels[channel];
        match sockets.socket(channel.socket) {
            Some(socket) => channel.outbox.retry(now, socket, &self.destination),
            None => Flushed::Done,
        }
    }

    /// Sum over all source ports.
    #[must_use]
    pub fn counters(&self) -> SendCounters {
        self.channels.iter().fold(SendCounters::default(), |sum, channel| {
            sum + channel.outbox.counters()
        })
    }
}
