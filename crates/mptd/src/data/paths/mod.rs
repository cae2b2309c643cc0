//! The system's side of a path: its sockets, its peer's address, and the batches on their way to it.

mod path_mtu;
pub(in crate::data) mod table;

use std::net::SocketAddr;
use std::time::Instant;

use mpt_api::EventKind;
use mpt_config::SourcePort;
use mpt_core::SocketId;
use mpt_core::path::reported::Reported;
use socket2::SockAddr;

use super::egress::outbox::{Flushed, Outbox, SendCounters};
use super::sockets::{SocketKey, Sockets};
use super::system::System;

/// The addresses and the interface of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wiring {
    /// Address and interface of its sockets.
    pub(crate) key: SocketKey,
    /// Port on which it listens.
    pub(crate) local_port: u16,
    /// Port from which it sends.
    pub(crate) source_port: SourcePort,
    /// Destination of its datagrams.
    pub(crate) remote: SocketAddr,
    /// Path MTU in bytes, as configured or as its interface has it.
    pub(crate) mtu: u16,
}

impl Wiring {
    /// True if a path can change from one to the other with the sockets it has.
    #[must_use]
    pub(crate) fn same_sockets(&self, other: &Wiring) -> bool {
        Wiring { mtu: 0, ..self.clone() } == Wiring { mtu: 0, ..other.clone() }
    }
}

/// One path's sockets and what waits to be sent on them.
#[derive(Debug)]
pub(crate) struct PathIo {
    /// Its addresses and its interface.
    pub(crate) wiring: Wiring,
    /// A smaller path MTU that ICMP reported, on a path without a session.
    pub(crate) reported: Reported,
    /// The connection's next sequence number at the last two ticks of a second, the older one first.
    pub(crate) numbers: [u32; 2],
    /// The last event about it that monitors got.
    pub(crate) told: Option<EventKind>,
    /// Messages sent: frames of the session, and commands and keepalives to a prototype.
    pub(crate) messages: Messages,
    /// The socket at which packets of the peer arrive, besides the source ports.
    pub(crate) listening: SocketId,
    /// One, or with entropy source ports a pool.
    pub(crate) channels: Vec<Channel>,
    destination: SockAddr,
}

/// Messages that were handed to the socket of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Messages {
    /// The number of datagrams.
    pub(crate) count: u64,
    /// Bytes of UDP payload in them.
    pub(crate) bytes: u64,
}

/// One source port and the batch being gathered for it.
#[derive(Debug)]
pub(crate) struct Channel {
    /// The socket bound to that port.
    pub(crate) socket: SocketId,
    /// The datagrams on their way to the socket.
    pub(crate) outbox: Outbox,
}

impl PathIo {
    /// A path that listens on one socket and sends from the `sources`.
    #[must_use]
    pub(crate) fn new(wiring: Wiring, listening: SocketId, sources: &[SocketId]) -> Self {
        let channel = |&socket| Channel { socket, outbox: Outbox::new() };
        Self {
            destination: wiring.remote.into(),
            wiring,
            reported: Reported::default(),
            numbers: [0; 2],
            told: None,
            messages: Messages::default(),
            listening,
            channels: sources.iter().map(channel).collect(),
        }
    }

    /// The peer is at another address, where it hears what comes from `socket`; gives the sockets that are not needed any more. What waits
    /// for room goes with them.
    #[must_use]
    pub(crate) fn move_to(&mut self, socket: SocketId, remote: SocketAddr) -> Vec<SocketId> {
        self.wiring.remote = remote;
        self.destination = remote.into();
        let mut left = Vec::new();
        if self.channels.iter().any(|channel| channel.socket != socket) {
            left.extend(self.channels.iter().map(|channel| channel.socket));
            self.channels.truncate(1);
            self.channels[0].socket = socket;
        }
        left
    }

    /// Returns the socket from which datagrams leave, and their destination.
    #[must_use]
    pub(crate) fn base(&self) -> (SocketId, &SockAddr) {
        (self.channels[0].socket, &self.destination)
    }

    /// Returns every socket it uses, once for each use.
    #[must_use]
    pub(crate) fn sockets(&self) -> Vec<SocketId> {
        let sources = self.channels.iter().map(|channel| channel.socket);
        std::iter::once(self.listening).chain(sources).collect()
    }

    /// Returns the source port of this flow: always the same one, so that routers on the way keep its order (RFC 8086 section 3.2.1).
    #[inline]
    #[must_use]
    pub(crate) fn channel_of(&self, flow_hash: u32) -> usize {
        match self.channels.len() {
            1 => 0,
            // Multiply-shift maps the hash evenly to 0..count.
            count => ((u64::from(flow_hash) * count as u64) >> 32) as usize,
        }
    }

    /// Sends what was gathered in one channel.
    pub(crate) fn flush(
        &mut self,
        now: Instant,
        channel: usize,
        sockets: &Sockets<impl System>,
        arena: &[u8],
        room: &mut usize,
    ) -> Flushed {
        let channel = &mut self.channels[channel];
        match sockets.socket(channel.socket) {
            Some(socket) => channel.outbox.flush(now, socket, &self.destination, arena, room),
            None => Flushed::Done,
        }
    }

    /// Sends what waits in a channel whose socket has room again.
    pub(crate) fn retry(
        &mut self,
        now: Instant,
        channel: usize,
        sockets: &Sockets<impl System>,
        room: &mut usize,
    ) -> Flushed {
        let channel = &mut self.channels[channel];
        match sockets.socket(channel.socket) {
            Some(socket) => channel.outbox.retry(now, socket, &self.destination, room),
            None => Flushed::Done,
        }
    }

    /// Returns the bytes that wait for room in its sockets.
    #[must_use]
    pub(crate) fn waiting(&self) -> usize {
        self.channels.iter().map(|channel| channel.outbox.waiting()).sum()
    }

    /// Sum over all source ports.
    #[must_use]
    pub(crate) fn counters(&self) -> SendCounters {
        self.channels
            .iter()
            .fold(SendCounters::default(), |sum, channel| sum + channel.outbox.counters())
    }
}
