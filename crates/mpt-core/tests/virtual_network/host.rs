//! One host: an node, its device and its buffers.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use mpt_core::{
    Connection, ConnectionId, DeviceId, DeviceSink, InnerPacket, Node, PacketMemory, PathId,
    SocketId,
};
use mpt_wire::checksum::Sum;
use mpt_wire::{ecn, gre};

use super::setup::Setup;
use super::{Datagram, Side, packet};

/// A packet that came out of the device.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    pub at: Instant,
    pub id: u64,
    pub flow: u16,
}

/// One host.
pub struct Host {
    pub node: Node<usize>,
    pub connection: ConnectionId,
    /// By index in the set-up.
    pub paths: Vec<PathId>,
    /// In order of delivery.
    pub delivered: Vec<Delivered>,
    /// When forged packets were delivered.
    pub forged: Vec<Instant>,
    /// The number of packets that its device has given to the tunnel.
    pub sent: u64,
    side: Side,
    setup: Setup,
    buffers: Buffers,
}

impl Host {
    pub(super) fn new(side: Side, now: Instant, setup: &Setup) -> Self {
        let mut node = Node::new(setup.seed_bytes());
        let connection =
            node.add_connection(now, setup.connection(side)).expect("the set-up is right");
        assert!(node.skip_numbers(connection, setup.first_number.into()));
        let paths = node.tunnels().connection(connection).expect("just added").paths().collect();
        Self {
            node,
            connection,
            paths,
            delivered: Vec::new(),
            forged: Vec::new(),
            sent: 0,
            side,
            setup: setup.clone(),
            buffers: Buffers::default(),
        }
    }

    pub(super) fn restart(&mut self, now: Instant, setup: &Setup) {
        let fresh = Self::new(self.side, now, &Setup { first_number: 0, ..setup.clone() });
        let delivered = std::mem::take(&mut self.delivered);
        *self = Self { delivered, sent: self.sent, ..fresh };
    }

    /// The only connection.
    pub fn connection(&self) -> &Connection<usize> {
        self.node.tunnels().connection(self.connection).expect("nobody removes it")
    }

    /// The next packet from the device: path, number and datagram of each copy.
    pub(super) fn encapsulate(
        &mut self,
        now: Instant,
        setup: &Setup,
    ) -> Vec<(usize, Option<u32>, Datagram)> {
        let flow = (self.sent % u64::from(setup.flows)) as u16;
        let mut inner = packet::build(setup, self.side, self.sent, flow);
        self.sent += 1;
        let packet = InnerPacket::whole(&mut inner).expect("it is an IP packet");
        let outgoing =
            self.node.handle_inner(now, DeviceId(0), packet).expect("the tunnel takes it");
        assert_eq!(outgoing.connection, self.connection);
        let transmits = outgoing.transmits.iter().map(|transmit| {
            assert_eq!(transmit.segment, 0);
            let path = self.paths.iter().position(|&path| path == transmit.path);
            let mut datagram = vec![0; outgoing.header_len()];
            datagram.extend_from_slice(&inner);
            assert!(outgoing.frame(transmit, &mut datagram));
            let (gre, _) = gre::Repr::parse(&datagram).expect("it has a header");
            (path.expect("one of ours"), gre.sequence, datagram)
        });
        transmits.collect()
    }

    pub(super) fn handle_datagram(
        &mut self,
        now: Instant,
        socket: SocketId,
        remote: SocketAddr,
        datagram: Datagram,
    ) {
        let handle = self.buffers.packets.len();
        self.buffers.arriving = Arriving { at: Some(now), datagram };
        self.node
            .handle_datagram(now, socket, remote, ecn::Ecn::NotEct, handle, &mut self.buffers)
            .expect("it is accepted");
        self.deliver(now);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.node.next_timeout().is_some_and(|next| next <= now) {
            self.node.handle_timeout(now, &mut self.buffers);
            let next = self.node.next_timeout();
            assert!(next.is_none_or(|next| next > now), "a timeout is left that was due");
            self.deliver(now);
        }
    }

    /// Looks at what the node has done with the buffers.
    fn deliver(&mut self, now: Instant) {
        for handle in self.buffers.kept.drain(..) {
            let buffer = &mut self.buffers.packets[handle];
            assert_eq!(buffer.state, State::Given);
            buffer.state = State::Kept;
        }
        for (handle, kept) in self.buffers.delivered.drain(..) {
            let buffer = &mut self.buffers.packets[handle];
            assert_eq!(buffer.state, if kept { State::Kept } else { State::Given });
            buffer.state = State::Delivered;
            let waited = now - buffer.arrived;
            let limit = if kept { self.setup.reorder.max_delay() } else { Duration::ZERO };
            assert!(waited <= limit, "it waited for {waited:?}");

            let bytes = std::mem::take(&mut buffer.bytes);
            let (id, flow) = packet::verify(&self.setup, 1 - self.side, &bytes);
            if id == packet::FORGED {
                self.forged.push(now);
            } else {
                self.delivered.push(Delivered { at: now, id, flow });
            }
        }
    }
}

/// GRE around an inner packet.
pub(super) fn datagram(gre: gre::Repr, inner: &[u8]) -> Datagram {
    let mut datagram = vec![0; gre.header_len()];
    gre.emit(&mut datagram);
    let mut sum = Sum::new();
    sum.add_bytes(inner);
    gre::Repr::fill_checksum(&mut datagram, sum);
    datagram.extend_from_slice(inner);
    datagram
}

/// Received packets, by handle.
#[derive(Default)]
struct Buffers {
    arriving: Arriving,
    packets: Vec<Buffer>,
    /// Handles, since the last look.
    kept: Vec<usize>,
    /// Handles, and whether they had been kept.
    delivered: Vec<(usize, bool)>,
}

/// The datagram that is being handled.
#[derive(Default)]
struct Arriving {
    at: Option<Instant>,
    datagram: Datagram,
}

struct Buffer {
    bytes: Vec<u8>,
    arrived: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Given,
    Kept,
    Delivered,
}

impl DeviceSink<usize> for Buffers {
    fn keep(&mut self, packet: usize) -> Option<usize> {
        self.kept.push(packet);
        Some(packet)
    }

    fn deliver(&mut self, device: DeviceId, packet: usize, kept: bool, _after_gap: bool) {
        assert_eq!(device, DeviceId(0));
        self.delivered.push((packet, kept));
    }

    fn discard(&mut self, packet: usize) {
        unreachable!("packet {packet} was discarded, though nothing is taken down");
    }
}

impl PacketMemory<usize> for Buffers {
    fn bytes_mut(&mut self, _: usize) -> &mut [u8] {
        &mut self.arriving.datagram
    }

    fn accept(&mut self, datagram: usize, _: ConnectionId, inner: Range<usize>) -> usize {
        assert_eq!(datagram, self.packets.len());
        let arrived = self.arriving.at.expect("one is being handled");
        let bytes = self.arriving.datagram[inner].to_vec();
        self.packets.push(Buffer { bytes, arrived, state: State::Given });
        datagram
    }
}
