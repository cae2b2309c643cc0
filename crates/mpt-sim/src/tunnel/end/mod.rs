//! One end of the tunnel: a node with a connection and, where there is one, its session; and its configuration.

pub(super) mod setup;

use std::ops::Range;
use std::time::Instant;

use mpt_core::node::{self, Destination};
use mpt_core::reorder::EqualizedBuffer;
use mpt_core::{
    Connection, ConnectionId, DeviceId, DeviceSink, FecCounters, InnerPacket, Node, Outgoing,
    PacketMemory, PathId, RepairCounters,
};
use mpt_wire::ecn;

use crate::kernel::random::derive;
use crate::kernel::time::Time;

use super::datagrams::{Datagram, Datagrams};
use super::plan::TunnelPlan;
use super::traffic::content::{Content, Inner, MAX_HEADERS, StreamPacket};

/// The payload of all packets.
static PAYLOAD: [u8; 1 << 16] = [0; 1 << 16];

/// Offset of the TOS field in an IPv4 header.
const TOS: usize = 1;

/// A packet that has come out of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) arrived: Time,
    pub(super) content: Content,
}

/// A datagram that leaves: its path, and its number among the [`Datagrams`].
pub(super) type Leaving = (usize, u32);

/// One end of the tunnel, with its connection and session.
pub(super) struct End {
    node: Node<Packet>,
    connection: ConnectionId,
    paths: Vec<PathId>,
    side: usize,
    memory: Memory,
    /// A packet of the host behind: headers, and a payload that nothing reads.
    inner: Vec<u8>,
    /// Packets that wait in the queue of the connection or may have to be sent again, by [`mpt_core::StoreId`].
    stored: Vec<Stored>,
    outbox: Vec<Leaving>,
    refused: u64,
}

/// A packet that waits in the queue of its connection.
#[derive(Clone, Copy)]
struct Stored {
    headers: [u8; MAX_HEADERS],
    headers_len: usize,
    inner: Inner,
}

/// The buffer of a datagram while it is received, and the packets that have come out of the tunnel since they were last taken.
struct Memory {
    bytes: Vec<u8>,
    len: usize,
    out: Vec<Packet>,
    /// The time at which the datagram came.
    now: Time,
}

impl PacketMemory<Packet> for Memory {
    fn bytes_mut(&mut self, _: Packet) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// Returns the packet of an accepted datagram. A mark of the outer header has become one of the inner header by now (RFC 6040).
    fn accept(&mut self, mut datagram: Packet, _: ConnectionId, inner: Range<usize>) -> Packet {
        if ecn::Ecn::from_tos(self.bytes[inner.start + TOS]) == ecn::Ecn::Ce {
            datagram.content.mark();
        }
        datagram
    }

    fn restored(&mut self, _: ConnectionId, packet: &[u8]) -> Option<Packet> {
        let content = Content::Stream(StreamPacket::of(packet)?);
        Some(Packet { arrived: self.now, content })
    }
}

impl DeviceSink<Packet> for Memory {
    fn keep(&mut self, packet: Packet) -> Option<Packet> {
        Some(packet)
    }

    fn deliver(&mut self, _: DeviceId, packet: Packet, _kept: bool, _after_gap: bool) {
        self.out.push(packet);
    }

    /// Ignores a duplicate, or a late packet that is dropped: the window counts them.
    fn discard(&mut self, _: Packet) {}
}

impl End {
    /// Makes end 0 or 1 of tunnel number `tunnel`. A session begins with its handshake at once.
    ///
    /// # Panics
    ///
    /// Panics if there are no paths or too many, or a weight is 0.
    pub(super) fn new(
        now: Instant,
        tunnel: usize,
        side: usize,
        plan: &TunnelPlan,
        seed: u64,
    ) -> Self {
        let mut node = Node::new(setup::seed(derive(seed, setup::component(tunnel, side))));
        let added = node.add_connection(now, setup::connection(side, plan));
        let connection =
            added.unwrap_or_else(|error| panic!("these paths make no tunnel: {error}"));
        let paths = node.tunnels().connection(connection).into_iter().flat_map(Connection::paths);
        let paths: Vec<PathId> = paths.collect();
        if plan.session {
            node.set_identity(now, Some(setup::identity(side)));
            let session = node.add_session(now, setup::session(side));
            let names: Vec<_> = (1..).map(Some).zip(paths.iter().copied()).collect();
            node.attach(now, session, connection, &names);
        }
        let memory = Memory {
            bytes: vec![0; usize::from(u16::MAX)],
            len: 0,
            out: Vec::new(),
            now: Time::ZERO,
        };
        Self {
            node,
            connection,
            paths,
            side,
            memory,
            inner: vec![0; usize::from(u16::MAX)],
            stored: Vec::new(),
            outbox: Vec::new(),
            refused: 0,
        }
    }

    /// Returns the largest packet that the tunnel carries, in bytes.
    pub(super) fn mtu(&self) -> u16 {
        self.node.tunnels().inner_mtu(setup::DEVICE)
    }

    /// Returns the connection.
    pub(super) fn connection(&self) -> Option<&Connection<Packet>> {
        self.node.tunnels().connection(self.connection)
    }

    /// Returns the number of packets that are held or wait in the receive window.
    pub(super) fn waiting(&self) -> usize {
        self.connection().and_then(Connection::equalized).map_or(0, EqualizedBuffer::waiting)
    }

    /// Returns the number of packets that wait in the queue of the connection.
    pub(super) fn queued(&self) -> usize {
        self.connection().and_then(Connection::queue).map_or(0, |queue| queue.segments)
    }

    /// Returns the number of this end; the sender of data is at end 0.
    pub(super) fn side(&self) -> usize {
        self.side
    }

    /// Adds the repairs of all paths to `sum`.
    pub(super) fn add_repairs(&self, mut sum: RepairCounters) -> RepairCounters {
        for (_, path) in self.connection().into_iter().flat_map(Connection::repairs) {
            sum.lost += path.lost;
            sum.repaired += path.repaired;
            sum.refused += path.refused;
            sum.late += path.late;
            sum.sent += path.sent;
            sum.bytes += path.bytes;
        }
        sum
    }

    /// Returns what forward error correction has done.
    pub(super) fn corrected(&self) -> FecCounters {
        self.connection().map(Connection::corrected).unwrap_or_default()
    }

    /// Returns the number of packets of the host behind this end that the tunnel has not taken because every path was down.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// Sends a packet of the host behind. The datagrams that leave are in the outbox.
    pub(super) fn send(&mut self, now: Instant, inner: Inner, wire: &mut Datagrams) {
        let headers = inner.emit(self.side, &mut self.inner);
        let packet = InnerPacket::whole(&mut self.inner[..inner.size as usize])
            .unwrap_or_else(|error| panic!("a host sends what is no packet: {error:?}"));
        let Ok(outgoing) = self.node.handle_inner(now, setup::DEVICE, packet) else {
            self.refused += 1;
            return;
        };
        let headers = &self.inner[..headers];
        frame(&outgoing, headers, inner, &self.paths, wire, &mut self.outbox);
        if let Some(id) = outgoing.stored {
            let id = id.0 as usize;
            let empty = Stored { headers: [0; MAX_HEADERS], headers_len: 0, inner };
            self.stored.resize(self.stored.len().max(id + 1), empty);
            let stored = &mut self.stored[id];
            (stored.headers_len, stored.inner) = (headers.len(), inner);
            stored.headers[..headers.len()].copy_from_slice(headers);
        }
    }

    /// Receives a datagram that has come over a path.
    ///
    /// # Panics
    ///
    /// Panics if the datagram is data and the tunnel refuses it.
    pub(super) fn receive(&mut self, now: Instant, at: Time, path: usize, datagram: &Datagram) {
        let Datagram { head, len, content, ecn, .. } = datagram;
        self.memory.bytes[..head.len()].copy_from_slice(head);
        if let Content::Stream(_) = content {
            // The payload has to be zero, since a symbol may cover it.
            self.memory.bytes[head.len()..*len].fill(0);
        }
        (self.memory.len, self.memory.now) = (*len, at);
        let packet = Packet { arrived: at, content: *content };
        let (socket, remote) = (setup::socket(path), setup::address(path, 1 - self.side));
        let taken = self.node.handle_datagram(now, socket, remote, *ecn, packet, &mut self.memory);
        taken.unwrap_or_else(|drop| panic!("the tunnel drops {content:?}: {drop:?}"));
    }

    /// Returns the time at which [`End::handle_timeout`] is to be called.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.node.next_timeout()
    }

    /// Handles the timers that are due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.node.handle_timeout(now, &mut self.memory);
    }

    /// Puts the further datagrams that leave by now into the outbox: packets that have waited, and frames of the session. It has to be called after
    /// every other call.
    pub(super) fn poll(&mut self, now: Instant, wire: &mut Datagrams) {
        while let Some(departure) = self.node.poll_departure(now) {
            let Stored { headers, headers_len, inner } = &self.stored[departure.packet.0 as usize];
            let headers = &headers[..*headers_len];
            frame(&departure.outgoing, headers, *inner, &self.paths, wire, &mut self.outbox);
        }
        while self.node.poll_path_event().is_some() {}
        while self.node.poll_event().is_some() {}
        while let Some(message) = self.node.poll_transmit() {
            if let Some(path) = self.path_of(&message) {
                let id = wire.add((message.len(), 0, Content::Control, ecn::Ecn::NotEct), |head| {
                    message.pieces().iter().for_each(|piece| head.extend_from_slice(piece));
                });
                self.outbox.push((path, id));
            }
            self.node.recycle(message);
        }
    }

    /// Returns what leaves now, to be given back by [`End::give_back_outbox`].
    pub(super) fn take_outbox(&mut self) -> Vec<Leaving> {
        std::mem::take(&mut self.outbox)
    }

    /// Takes an empty outbox back, which saves an allocation for every packet.
    pub(super) fn give_back_outbox(&mut self, mut outbox: Vec<Leaving>) {
        outbox.clear();
        self.outbox = outbox;
    }

    /// Returns what has come out of the tunnel, to be given back by [`End::give_back`].
    pub(super) fn take_out(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.memory.out)
    }

    /// Takes an empty list back, which saves an allocation for every packet.
    pub(super) fn give_back(&mut self, mut out: Vec<Packet>) {
        out.clear();
        self.memory.out = out;
    }

    fn path_of(&self, message: &node::Transmit) -> Option<usize> {
        match message.destination {
            Destination::Path(path) => self.paths.iter().position(|&it| it == path),
            Destination::Address { socket, .. } => Some(socket.0 as usize),
            Destination::Command { .. } | Destination::CommandAnswer { .. } => None,
        }
    }
}

/// Makes the datagrams of a packet that leave now.
fn frame(
    outgoing: &Outgoing<'_>,
    headers: &[u8],
    inner: Inner,
    paths: &[PathId],
    wire: &mut Datagrams,
    outbox: &mut Vec<Leaving>,
) {
    let gre = outgoing.header_len();
    for transmit in outgoing.transmits {
        let Some(path) = paths.iter().position(|&path| path == transmit.path) else { continue };
        let outer = ecn::Ecn::from_tos(outgoing.tos_of(transmit));
        let len = gre + inner.size as usize;
        let id = wire.add((len, transmit.sequence, inner.content, outer), |head| {
            head.resize(gre, 0);
            head.extend_from_slice(headers);
            let payload = &PAYLOAD[headers.len()..inner.size as usize];
            let framed = outgoing.frame_pieces(transmit, head, payload);
            debug_assert!(framed, "what is simulated is not sealed");
        });
        outbox.push((path, id));
    }
}
