//! The way from the sockets to the TUN devices: one read gives up to 64 datagrams, which pass the reorder window and are coalesced into
//! super-packets.

use std::io::IoSlice;
use std::ops::Range;
use std::time::Instant;

use mpt_core::{ConnectionId, DeviceId, DeviceSink, Node, PacketMemory, SocketId, Times};
use mpt_linux::udp::ArrivalClock;
use mpt_offload::coalesce::MAX_PIECES;
use mpt_offload::{Piece, Sink, VnetHeader};
use mpt_wire::ecn::Ecn;

use super::backlog::Backlog;
use super::event_loop::rounds::{BUFFERS_PER_ROUND, SMALL_PACKET};
use super::memory::buffers::{Buffers, PacketRef};
use super::memory::shares::Shares;
use super::system::device::Device;
use super::system::{BatchSocket, SuperPacketDevice};

/// Counters of what arrived on sockets, before the node judged it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IngressCounters {
    /// Reads that gave something: datagrams per read is what gathering gains.
    pub(crate) reads: u64,
    /// Datagrams.
    pub(crate) datagrams: u64,
    /// Datagrams that were longer than the buffer, and were dropped.
    pub(crate) truncated: u64,
}

/// Received packets on their way to the devices.
#[derive(Debug)]
pub(crate) struct Ingress {
    buffers: Buffers,
    in_round: usize,
    /// Small packets since they were last asked for.
    small: usize,
    counters: IngressCounters,
    backlog: Backlog,
}

impl Ingress {
    /// Returns one with room for `limit` bytes of packets.
    #[must_use]
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            buffers: Buffers::new(limit),
            in_round: 0,
            small: 0,
            counters: IngressCounters::default(),
            backlog: Backlog::default(),
        }
    }

    /// Returns what arrived so far.
    #[must_use]
    pub(crate) fn counters(&self) -> IngressCounters {
        self.counters
    }

    /// Returns the packets that were dropped since datagrams waited in a socket for too long.
    #[must_use]
    pub(crate) fn dropped_for_backlog(&self) -> u64 {
        self.backlog.dropped
    }

    /// The packet memory.
    #[must_use]
    pub(crate) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Returns the shares of the memory by owner.
    pub(crate) fn shares_mut(&mut self) -> &mut Shares {
        self.buffers.shares_mut()
    }

    /// Small packets since they were last taken.
    pub(crate) fn small_packets(&self) -> usize {
        self.small
    }

    /// Returns the small packets since they were last taken, and starts counting anew.
    pub(crate) fn take_small_packets(&mut self) -> usize {
        std::mem::take(&mut self.small)
    }

    /// Reads once from a socket. False when there was nothing.
    pub(crate) fn read<D: SuperPacketDevice>(
        &mut self,
        id: SocketId,
        socket: &impl BatchSocket,
        now: impl Fn() -> Instant,
        arrivals: &ArrivalClock,
        node: &mut Node<PacketRef>,
        devices: &mut [Option<Device<D>>],
    ) -> bool {
        if self.in_round == BUFFERS_PER_ROUND {
            self.end_round(devices);
        }
        let Some(buffer) = self.buffers.receive_buffer() else { return false };
        self.in_round += 1;
        let Ok(read) = socket.receive(self.buffers.bytes_mut(buffer)) else {
            self.backlog.note_empty(id);
            return false;
        };
        let now = now();
        let arrival = arrivals.arrival(read.stamp, now);
        let at = Times::new(now, arrival);
        self.counters.reads += 1;
        let datagrams = read.len.div_ceil(read.datagram_len.max(1));
        if read.datagram_len < SMALL_PACKET {
            self.small += datagrams;
        }
        let ecn = Ecn::from_tos(read.tos);
        let mut start = 0;
        loop {
            let end = (start + read.datagram_len).min(read.len);
            self.counters.datagrams += 1;
            if read.truncated && end == read.len {
                self.counters.truncated += 1;
                break;
            }
            let datagram = self.buffers.packet(buffer, start..end);
            let (buffers, backlog) = (&mut self.buffers, &mut self.backlog);
            let mut delivery =
                Delivery { buffers, backlog, devices, read_len: read.len, owner: None };
            // The node counts the datagrams that it refuses.
            let _ = node.handle_datagram(at, id, read.source, ecn, datagram, &mut delivery);
            start = end;
            if start >= read.len {
                break;
            }
        }
        self.backlog.note_read(datagrams as u32);
        // A buffer of which the system says nothing counts as empty.
        self.backlog.note(id, now, arrival, || socket.receive_fill().unwrap_or(0.0));
        true
    }

    /// Runs something of the node that may deliver packets: a timer, a change of the configuration.
    pub(crate) fn deliver<D: SuperPacketDevice, R>(
        &mut self,
        devices: &mut [Option<Device<D>>],
        run: impl FnOnce(&mut Delivery<'_, D>) -> R,
    ) -> R {
        let (buffers, backlog) = (&mut self.buffers, &mut self.backlog);
        let result = run(&mut Delivery { buffers, backlog, devices, read_len: 0, owner: None });
        self.end_round(devices);
        result
    }

    /// Writes out what the coalescers hold and frees the buffers.
    pub(crate) fn end_round<D: SuperPacketDevice>(&mut self, devices: &mut [Option<Device<D>>]) {
        for device in devices.iter_mut().flatten() {
            let mut writer = Writer {
                tun: &device.tun,
                buffers: &self.buffers,
                failed: &mut device.write_failed,
            };
            device.coalescer.flush(&mut writer);
        }
        self.buffers.end_round();
        self.in_round = 0;
    }
}

/// The receiver of the node's packets: they wait, or leave through a coalescer to a device.
pub(crate) struct Delivery<'a, D> {
    buffers: &'a mut Buffers,
    backlog: &'a mut Backlog,
    devices: &'a mut [Option<Device<D>>],
    /// The length of the read that brought the packet that is just received.
    read_len: usize,
    /// The connection of that packet, once it is accepted. Nothing else is ever to be kept.
    owner: Option<ConnectionId>,
}

impl<D: SuperPacketDevice> DeviceSink<PacketRef> for Delivery<'_, D> {
    #[inline]
    fn keep(&mut self, packet: PacketRef) -> Option<PacketRef> {
        self.buffers.keep(self.owner?, packet, self.read_len)
    }

    #[inline]
    fn deliver(&mut self, device: DeviceId, packet: PacketRef, kept: bool, after_gap: bool) {
        let leaves = !self.backlog.is_due() || self.backlog.signal(self.buffers.packet_mut(packet));
        if leaves && let Some(Some(device)) = self.devices.get_mut(usize::from(device.0)) {
            let mut writer = Writer {
                tun: &device.tun,
                buffers: self.buffers,
                failed: &mut device.write_failed,
            };
            device.coalescer.push(self.buffers.bytes(packet), packet, after_gap, &mut writer);
        }
        if kept {
            self.buffers.release(packet);
        }
    }

    fn discard(&mut self, packet: PacketRef) {
        self.buffers.release(packet);
    }
}

impl<D: SuperPacketDevice> PacketMemory<PacketRef> for Delivery<'_, D> {
    #[inline]
    fn bytes_mut(&mut self, datagram: PacketRef) -> &mut [u8] {
        self.buffers.packet_mut(datagram)
    }

    #[inline]
    fn accept(
        &mut self,
        datagram: PacketRef,
        connection: ConnectionId,
        inner: Range<usize>,
    ) -> PacketRef {
        self.owner = Some(connection);
        self.backlog.note_accepted(inner.len() as u32);
        datagram.part(inner)
    }

    fn restored(&mut self, connection: ConnectionId, packet: &[u8]) -> Option<PacketRef> {
        let buffer = self.buffers.receive_buffer()?;
        self.buffers.bytes_mut(buffer).get_mut(..packet.len())?.copy_from_slice(packet);
        (self.owner, self.read_len) = (Some(connection), packet.len());
        Some(self.buffers.packet(buffer, 0..packet.len()))
    }
}

/// Writes one super-packet: header and pieces in one call.
struct Writer<'a, D> {
    tun: &'a D,
    buffers: &'a Buffers,
    failed: &'a mut u64,
}

impl<D: SuperPacketDevice> Sink<PacketRef> for Writer<'_, D> {
    fn write(&mut self, vnet: &VnetHeader, header: &[u8], pieces: &[Piece<PacketRef>]) {
        let vnet = vnet.emit();
        let mut slices = [IoSlice::new(&[]); MAX_PIECES + 2];
        slices[0] = IoSlice::new(&vnet);
        slices[1] = IoSlice::new(header);
        for (slice, piece) in slices[2..].iter_mut().zip(pieces) {
            *slice = IoSlice::new(
                &self.buffers.bytes(piece.handle)[piece.start as usize..piece.end as usize],
            );
        }
        if self.tun.write(&slices[..pieces.len() + 2]).is_err() {
            *self.failed += 1;
        }
    }
}
