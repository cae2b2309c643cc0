//! The way from the TUN device to the paths: one read gives a super-packet, which leaves as GRE in UDP segments gathered by path.
//!
//! Nothing is copied: segments are sent as two pieces, their own headers (written behind the packet in the arena) and a slice of the packet
//! as it was read. The arena is reused when everything in it has been handed to the kernel.

mod datagram;
mod departures;
pub(super) mod exits;
mod gather;
pub(super) mod outbox;

use std::io::IoSlice;
use std::ops::Range;

use mpt_core::{DeviceId, InnerDrop, InnerPacket, Node, Outgoing, PathId, Transmit};
use mpt_linux::tun::{READ_LEN, VNET_HEADER_LEN};
use mpt_offload::{Segmenter, VnetHeader};
use mpt_wire::ip::Summary;
use mpt_wire::tcp::mss::ChecksumState;
use mpt_wire::{icmp, ipv6};

use super::memory::buffers::PacketRef;
use super::system::device::Device;
use datagram::Datagram;
use exits::Exits;

use super::event_loop::rounds::SMALL_PACKET;
use super::memory::store::Store;
use super::system::{SuperPacketDevice, System};
use outbox::{Flushed, MAX_WAITING};

/// Room for one round: several super-packets, or many small packets, with the headers of their segments.
const ARENA_LEN: usize = 1 << 20;
/// A round reads no further once this much of the arena is used: what is sent while still in the cache is sent faster.
const ROUND_BYTES: usize = 224 * 1024;
/// Packets that one round reads from a device before the sockets get their turn.
const ROUND_PACKETS: usize = 32;
/// Largest ICMP message we write: RFC 4443 section 2.4 (c), one IPv6 minimum MTU.
const ICMP_LEN: usize = ipv6::MIN_MTU;

/// Packets from TUN that never reached the node, and what was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EgressCounters {
    /// Reads from TUN devices that gave a packet.
    pub(crate) reads: u64,
    /// Packets whose virtio-net or IP header makes no sense.
    pub(crate) malformed: u64,
    /// "Too big" messages written back to the device.
    pub(crate) too_big_answered: u64,
}

/// A path that could not send, to be dealt with after the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// The path.
    pub(crate) path: PathId,
    /// Its source port.
    pub(crate) channel: usize,
    /// The task that follows.
    pub(crate) outcome: Flushed,
}

/// The place of the bytes of a packet whose segments leave.
enum Packet<'a> {
    /// The range in the arena into which it was read.
    Read(Range<usize>),
    /// Bytes in the memory of packets that wait.
    Stored(&'a [u8]),
}

impl Packet<'_> {
    /// The arena behind this place may be overwritten.
    fn end(&self) -> usize {
        match self {
            Packet::Read(range) => range.end,
            Packet::Stored(_) => 0,
        }
    }

    /// Returns the bytes; `arena` is what lies before the datagram that is written.
    fn bytes<'a>(&'a self, arena: &'a [u8]) -> &'a [u8] {
        match self {
            Packet::Read(range) => &arena[range.clone()],
            Packet::Stored(bytes) => bytes,
        }
    }
}

/// The arena and the list of what has to be flushed from it.
#[derive(Debug)]
pub(crate) struct Egress {
    arena: Vec<u8>,
    used: usize,
    /// Small packets since they were last asked for.
    small: usize,
    /// Channels with a batch in the arena, once each, in the order in which they began.
    gathered: Vec<(PathId, usize)>,
    /// Bytes that may yet wait for room in sockets.
    pub(crate) room: usize,
    /// Channels that could not send all; the caller empties it.
    pub(crate) stuck: Vec<Stuck>,
    counters: EgressCounters,
}

impl Egress {
    /// Everything that is ever needed, allocated.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self {
            arena: vec![0; ARENA_LEN],
            used: 0,
            small: 0,
            gathered: Vec::with_capacity(64),
            room: MAX_WAITING,
            stuck: Vec::with_capacity(64),
            counters: EgressCounters::default(),
        }
    }

    /// Returns what was read and answered so far.
    #[must_use]
    pub(crate) fn counters(&self) -> EgressCounters {
        self.counters
    }

    /// Small packets since they were last taken, starting anew.
    pub(crate) fn take_small_packets(&mut self) -> usize {
        std::mem::take(&mut self.small)
    }

    /// Reads from a device what is there, up to one round, and sends it.
    pub(crate) fn round<S: System>(
        &mut self,
        id: DeviceId,
        device: &Device<S::Device>,
        store: &mut Store,
        node: &mut Node<PacketRef>,
        exits: &mut Exits<'_, S>,
    ) {
        for _ in 0..ROUND_PACKETS {
            if self.used + READ_LEN > ARENA_LEN {
                self.flush_behind(0, exits);
            }
            let start = self.used;
            let Ok(len) = device.tun.read(&mut self.arena[start..start + READ_LEN]) else { break };
            self.counters.reads += 1;
            self.small += usize::from(len < SMALL_PACKET);
            self.packet(id, device, store, node, start..start + len, exits);
            if self.used > ROUND_BYTES {
                break;
            }
        }
        self.flush_behind(0, exits);
    }

    fn packet<S: System>(
        &mut self,
        id: DeviceId,
        device: &Device<S::Device>,
        store: &mut Store,
        node: &mut Node<PacketRef>,
        read: Range<usize>,
        exits: &mut Exits<'_, S>,
    ) {
        let start = read.start + VNET_HEADER_LEN;
        let bytes = &mut self.arena[read.start..read.end];
        let Some((header, packet)) = bytes.split_at_mut_checked(VNET_HEADER_LEN) else {
            self.counters.malformed += 1;
            return;
        };
        let (Ok(vnet), Ok(summary)) = (VnetHeader::parse(header), Summary::parse(packet)) else {
            self.counters.malformed += 1;
            return;
        };
        let Ok(segmenter) = Segmenter::new(&vnet, packet, summary.transport) else {
            self.counters.malformed += 1;
            return;
        };
        let (segments, largest) = (segmenter.count(), segmenter.largest());
        // The segmenter has completed the checksum of whatever is no super-packet, and a SYN never is one.
        let checksum = ChecksumState::Complete;
        let inner = InnerPacket { bytes: packet, summary, checksum, segments, largest };
        match node.handle_inner(exits.now, id, inner) {
            Ok(outgoing) => {
                if !outgoing.transmits.is_empty() {
                    self.used = read.end;
                    self.gather(&outgoing, &segmenter, start..read.end, exits);
                }
                if let Some(id) = outgoing.stored {
                    let packet = &self.arena[start..read.end];
                    store.put(outgoing.connection, id, &segmenter, packet);
                    node.limit_queues(store.room());
                }
            }
            Err(InnerDrop::TooBig { mtu }) => {
                self.answer_too_big(device, start..read.end, &summary, mtu);
            }
            Err(InnerDrop::Ipv6MinimumMtu) => {
                self.answer_no_route(device, start..read.end, &summary);
            }
            // Counted by the node.
            Err(_) => {}
        }
    }

    /// Puts every segment of a packet on its way: headers into the arena, ranges into the outbox of the path it is assigned to.
    fn gather<S: System>(
        &mut self,
        outgoing: &Outgoing<'_>,
        segmenter: &Segmenter,
        packet: Range<usize>,
        exits: &mut Exits<'_, S>,
    ) {
        if outgoing.is_sealed() {
            return self.gather_whole(outgoing, segmenter, &Packet::Read(packet), exits);
        }
        let gre_len = outgoing.header_len();
        let header_len = gre_len + segmenter.header_len();
        let mut written = None;
        let mut datagram = Datagram::default();
        for transmit in outgoing.transmits {
            if written != Some(transmit.segment) {
                let header = self.room_for(header_len, packet.end, exits);
                let (before, behind) = self.arena.split_at_mut(header.start);
                let out = &mut behind[..header_len];
                let packet_bytes = &before[packet.clone()];
                let range = segmenter.segment(packet_bytes, transmit.segment, &mut out[gre_len..]);
                if !outgoing.frame_pieces(transmit, out, &packet_bytes[range.clone()]) {
                    continue;
                }
                let payload = packet.start + range.start..packet.start + range.end;
                datagram = Datagram::pieces(header, payload);
                written = Some(transmit.segment);
            }
            self.add(outgoing, transmit, datagram, exits);
        }
    }

    /// Puts every segment of a packet on its way that is written as a whole: what is sealed is sealed there, once for all of its copies, and
    /// a packet that has waited may have to go before the arena is flushed. It is read for its checksum or its tag anyway, so that the copy
    /// costs little.
    fn gather_whole<S: System>(
        &mut self,
        outgoing: &Outgoing<'_>,
        segmenter: &Segmenter,
        packet: &Packet<'_>,
        exits: &mut Exits<'_, S>,
    ) {
        let gre_len = outgoing.header_len();
        let header_len = gre_len + segmenter.header_len();
        let mut framed: Option<(u16, Datagram)> = None;
        for transmit in outgoing.transmits {
            let known = framed.take_if(|(segment, _)| *segment == transmit.segment);
            let datagram = match known {
                Some((_, datagram)) => datagram,
                None => {
                    let segment = segmenter.segment_len(transmit.segment);
                    let len = gre_len + segment + outgoing.trailer_len();
                    let range = self.room_for(len, packet.end(), exits);
                    let (before, behind) = self.arena.split_at_mut(range.start);
                    let (out, inner) = (&mut behind[..len], packet.bytes(before));
                    let payload = segmenter.segment(inner, transmit.segment, &mut out[gre_len..]);
                    out[header_len..][..payload.len()].copy_from_slice(&inner[payload]);
                    if !outgoing.frame(transmit, out) {
                        continue;
                    }
                    Datagram::whole(range)
                }
            };
            self.add(outgoing, transmit, datagram, exits);
            framed = Some((transmit.segment, datagram));
        }
    }

    /// Returns the range of the arena for `len` new bytes. If it is full, the gathered datagrams are flushed, and the bytes behind `end` are
    /// overwritten.
    #[inline]
    fn room_for<S: System>(
        &mut self,
        len: usize,
        end: usize,
        exits: &mut Exits<'_, S>,
    ) -> Range<usize> {
        if self.used + len > ARENA_LEN {
            self.flush_behind(end, exits);
        }
        let start = self.used;
        self.used += len;
        start..self.used
    }

    /// Puts a datagram into the outbox of its path.
    // Once for each segment.
    #[inline(always)]
    fn add<S: System>(
        &mut self,
        outgoing: &Outgoing<'_>,
        transmit: &Transmit,
        datagram: Datagram,
        exits: &mut Exits<'_, S>,
    ) {
        let (id, tos) = (transmit.path, outgoing.tos_of(transmit));
        let Some(path) = exits.paths.get_mut(id) else { return };
        let channel = path.channel_of(outgoing.flow_hash);
        if !path.channels[channel].outbox.fits(datagram.len(), tos) {
            let outcome =
                path.flush(exits.now, channel, exits.sockets, &self.arena, &mut self.room);
            note(&mut self.stuck, id, channel, outcome);
        }
        let outbox = &mut path.channels[channel].outbox;
        let entry = (id, channel);
        if outbox.push(datagram, tos) && !self.gathered.contains(&entry) {
            self.gathered.push(entry);
        }
        if outbox.is_full() {
            // It is sent at once, so that the peer works on it while the next packet is read.
            let outcome =
                path.flush(exits.now, channel, exits.sockets, &self.arena, &mut self.room);
            note(&mut self.stuck, id, channel, outcome);
        }
    }

    /// Hands everything gathered to the kernel, so that the arena behind `end` can be reused.
    pub(super) fn flush_behind<S: System>(&mut self, end: usize, exits: &mut Exits<'_, S>) {
        let Self { gathered, arena, room, stuck, .. } = self;
        gather::flush(gathered, exits, arena, room, |id, channel, outcome| {
            note(stuck, id, channel, outcome);
        });
        gathered.clear();
        self.used = end;
    }

    /// Tells the sender of a packet that does not fit how large it may be (RFC 1191 section 4, RFC 4443 section 3.2). The message comes from the
    /// packet's own destination: an address of ours would be refused by the kernel as a martian.
    fn answer_too_big(
        &mut self,
        device: &Device<impl SuperPacketDevice>,
        packet: Range<usize>,
        summary: &Summary,
        mtu: u16,
    ) {
        let mut message = [0; VNET_HEADER_LEN + ICMP_LEN];
        let packet = &self.arena[packet];
        let source = summary.destination;
        if let Some(len) = icmp::too_big(packet, mtu, source, &mut message[VNET_HEADER_LEN..])
            && device.tun.write(&[IoSlice::new(&message[..VNET_HEADER_LEN + len])]).is_ok()
        {
            self.counters.too_big_answered += 1;
        }
    }
}

impl Egress {
    /// Tells the sender of an IPv6 packet that no path of its connection carries IPv6, so that it turns to IPv4 at once.
    fn answer_no_route(
        &mut self,
        device: &Device<impl SuperPacketDevice>,
        packet: Range<usize>,
        summary: &Summary,
    ) {
        let mut message = [0; VNET_HEADER_LEN + ICMP_LEN];
        let packet = &self.arena[packet];
        let source = summary.destination;
        if let Some(len) = icmp::no_route(packet, source, &mut message[VNET_HEADER_LEN..]) {
            // A full device has packets enough to answer.
            let _ = device.tun.write(&[IoSlice::new(&message[..VNET_HEADER_LEN + len])]);
        }
    }
}

/// A channel is listed once per reason, however many batches of it got stuck.
fn note(stuck: &mut Vec<Stuck>, path: PathId, channel: usize, outcome: Flushed) {
    let entry = Stuck { path, channel, outcome };
    if outcome != Flushed::Done && !stuck.contains(&entry) {
        stuck.push(entry);
    }
}
