//! From the sockets to the TUN devices: one read gives up to 64 datagrams, which pass the reorder window and are coalesced into
//! super-packets.

use std::io::IoSlice;
use std::time::Instant;

use mpt_core::compat::Compat;
use mpt_core::control::Control;
use mpt_core::{ConnectionId, DatagramDrop, DeviceId, DeviceSink, Endpoint, SocketId};
use mpt_linux::offload::{self, Piece, VnetHeader};
use mpt_linux::tun::Tun;
use mpt_linux::udp::UdpSocket;
use mpt_wire::control::frame::MAX_PROBE_FRAME_LEN;
use mpt_wire::ecn::Ecn;
use mpt_wire::gre;

use super::buffers::{Buffers, PacketRef};
use super::device::Device;
use super::shares::Shares;
use super::{SMALL_PACKET, compat};

/// Reads before what came in is written to the devices: enough for the segments of all paths to meet again, few enough to stay in the cache.
pub(crate) const BUFFERS_PER_ROUND: usize = 8;

/// What arrived on sockets, before the endpoint judged it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IngressCounters {
    /// Reads that gave something: datagrams per read is what gathering gains.
    pub(crate) reads: u64,
    /// Datagrams.
    pub(crate) datagrams: u64,
    /// Longer than the buffer, so cut, so dropped.
    pub(crate) truncated: u64,
}

/// Who says what becomes of a datagram.
pub(crate) struct Judges<'a> {
    /// Of data.
    pub(crate) endpoint: &'a mut Endpoint<PacketRef>,
    /// Of frames of the control protocol.
    pub(crate) control: &'a mut Control,
    /// Of what a prototype sends among its data.
    pub(crate) compat: &'a mut Compat,
}

/// Received packets on their way to the devices.
#[derive(Debug)]
pub(crate) struct Ingress {
    buffers: Buffers,
    in_round: usize,
    /// Small packets since they were last asked for.
    small: usize,
    /// Where a control frame is copied to while it is worked on.
    frame: Box<FrameBuffer>,
    counters: IngressCounters,
}

impl Ingress {
    /// With room for `limit` bytes of packets.
    #[must_use]
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            buffers: Buffers::new(limit),
            in_round: 0,
            small: 0,
            frame: Box::new([0; MAX_PROBE_FRAME_LEN + 1]),
            counters: IngressCounters::default(),
        }
    }

    /// What arrived so far.
    #[must_use]
    pub(crate) fn counters(&self) -> IngressCounters {
        self.counters
    }

    /// The packet memory.
    #[must_use]
    pub(crate) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Whose packets share the memory.
    pub(crate) fn shares_mut(&mut self) -> &mut Shares {
        self.buffers.shares_mut()
    }

    /// Small packets since they were last taken.
    pub(crate) fn small_packets(&self) -> usize {
        self.small
    }

    /// The same, starting anew.
    pub(crate) fn take_small_packets(&mut self) -> usize {
        std::mem::take(&mut self.small)
    }

    /// Reads once from a socket. False when there was nothing.
    pub(crate) fn read(
        &mut self,
        id: SocketId,
        socket: &UdpSocket,
        judges: &mut Judges<'_>,
        devices: &mut [Option<Device>],
    ) -> bool {
        if self.in_round == BUFFERS_PER_ROUND {
            self.end_round(devices);
        }
        let Some(buffer) = self.buffers.receive_buffer() else { return false };
        self.in_round += 1;
        let Ok(read) = socket.receive(self.buffers.bytes_mut(buffer)) else { return false };
        let now = Instant::now();
        self.counters.reads += 1;
        if read.datagram_len < SMALL_PACKET {
            self.small += read.len.div_ceil(read.datagram_len.max(1));
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
            let datagram = &mut self.buffers.bytes_mut(buffer)[start..end];
            match judges.endpoint.accept(id, read.source, ecn, datagram) {
                Ok(accepted) => {
                    let inner = accepted.inner();
                    let packet =
                        self.buffers.packet(buffer, start + inner.start..start + inner.end);
                    let origin = Some((accepted.connection(), read.len));
                    let mut delivery = Delivery { buffers: &mut self.buffers, devices, origin };
                    judges.endpoint.receive(now, &accepted, packet, &mut delivery);
                }
                Err(DatagramDrop::Control) => {
                    // A copy: what waits in the windows may be delivered while the frame is read.
                    let frame = &mut *self.frame;
                    let len = control_frame(datagram, frame);
                    let mut delivery =
                        Delivery { buffers: &mut self.buffers, devices, origin: None };
                    let Judges { endpoint, control, .. } = judges;
                    if control.public_key().is_some() {
                        let frame = &frame[..len];
                        control.handle_frame(now, id, read.source, frame, endpoint, &mut delivery);
                    } else {
                        endpoint.count_drop(DatagramDrop::Control);
                    }
                }
                Err(DatagramDrop::NotIp(path)) => {
                    judges.compat.handle_data(now, path, compat::payload(datagram));
                }
                Err(_) => {}
            }
            start = end;
            if start >= read.len {
                return true;
            }
        }
        true
    }

    /// Runs something of the endpoint that may deliver packets: a timer, a change of the configuration.
    pub(crate) fn deliver<R>(
        &mut self,
        devices: &mut [Option<Device>],
        run: impl FnOnce(&mut Delivery<'_>) -> R,
    ) -> R {
        let result = run(&mut Delivery { buffers: &mut self.buffers, devices, origin: None });
        self.end_round(devices);
        result
    }

    /// Writes out what the coalescers hold and frees the buffers.
    pub(crate) fn end_round(&mut self, devices: &mut [Option<Device>]) {
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

/// Room for one byte more than any frame has, so that a longer one is seen to be.
type FrameBuffer = [u8; MAX_PROBE_FRAME_LEN + 1];

/// Copies what follows the GRE header, as far as there is room: one byte more than any frame has, so that a longer one is seen to be.
fn control_frame(datagram: &[u8], frame: &mut FrameBuffer) -> usize {
    let payload = gre::Repr::parse(datagram).ok().and_then(|(_, start)| datagram.get(start..));
    let payload = payload.unwrap_or_default();
    let len = payload.len().min(frame.len());
    frame[..len].copy_from_slice(&payload[..len]);
    len
}

/// Where the endpoint's packets go: into waiting, or through a coalescer to a device.
pub(crate) struct Delivery<'a> {
    buffers: &'a mut Buffers,
    devices: &'a mut [Option<Device>],
    /// The connection of the packet that is just received, and the length of the read that brought it. Nothing else is ever to be kept.
    origin: Option<(ConnectionId, usize)>,
}

impl DeviceSink<PacketRef> for Delivery<'_> {
    #[inline]
    fn keep(&mut self, packet: PacketRef) -> Option<PacketRef> {
        let (connection, read_len) = self.origin?;
        self.buffers.keep(connection, packet, read_len)
    }

    #[inline]
    fn deliver(&mut self, device: DeviceId, packet: PacketRef, kept: bool, after_gap: bool) {
        if let Some(Some(device)) = self.devices.get_mut(usize::from(device.0)) {
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

/// Writes one super-packet: header and pieces in one call.
struct Writer<'a> {
    tun: &'a Tun,
    buffers: &'a Buffers,
    failed: &'a mut u64,
}

impl offload::Sink<PacketRef> for Writer<'_> {
    fn write(&mut self, vnet: &VnetHeader, header: &[u8], pieces: &[Piece<PacketRef>]) {
        let vnet = vnet.emit();
        let mut slices = [IoSlice::new(&[]); offload::coalesce::MAX_PIECES + 2];
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
