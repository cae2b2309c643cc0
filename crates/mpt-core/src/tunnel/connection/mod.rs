//! One connection: what it sends and receives, and the state of both directions.

mod adaptive;
mod checks;
mod classes;
mod correction;
mod ipv6;
mod members;
mod protection;
mod sealing;
mod sizes;

use std::cell::RefCell;
use std::time::Instant;

use mpt_wire::tcp::mss::{self, ChecksumState};
use mpt_wire::{ecn, gre, ip};
use smallvec::SmallVec;

use self::classes::class_of;
pub(crate) use self::protection::UNORDERED;
use self::protection::{Protection, can_number, sealed_header};
use self::sizes::SegmentSizes;
use crate::adaptive::Adaptive;
use crate::fec::{Encoder, FecCounters, Restorer};
use crate::path::mtu::IPV6_MINIMUM;
use crate::path::{Path, Paths};
use crate::reorder::{Class, EqualizedBuffer, RESTORED, ReorderBuffer};
use crate::scheduler::{Choice, Scheduler};
use crate::seal::{Opened, Sealer};
use crate::tunnel::connection::ipv6::Ipv6Paths;
use crate::tunnel::counters::{Accepted, DatagramDrops, InnerDrops, Remarks, Traffic};
use crate::tunnel::filter::Sources;
use crate::tunnel::filter::foreign;
use crate::tunnel::{
    AcceptedDatagram, DatagramDrop, DeviceSink, InnerDrop, InnerPacket, Received, ToDevice,
    Transmit,
};
use crate::{ConnectionConfig, DeviceId, Direction, Mapping, PathId, Repair, StoreId, Times};

/// A connection. `P` is the handle of a received packet.
///
/// The fields keep the order of their declaration. Those that every sent packet touches are on the
/// first two cache lines, and those that every received one touches on the third. With thousands of
/// connections in use, these lines are the cost of a packet.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Connection<P> {
    pub(crate) scheduler: Scheduler,
    /// The paths by slot. The slot of a path that was removed is empty until another one takes it.
    slots: SmallVec<[Option<PathId>; 4]>,
    sent: Traffic,
    key: Option<u32>,
    next_sequence: u32,
    inner_mtu: u16,
    device: DeviceId,
    direction: Direction,
    ecn: ecn::Mode,
    copy_dscp: bool,
    protection: Protection,
    /// True if what is sent carries sequence numbers.
    numbered: bool,
    /// True if anything needs the hash of a packet's flow.
    hash_flows: bool,
    /// True if the next packet to be sent is to be reported, see [`crate::Tunnels::set_quiet`].
    pub(crate) quiet: bool,
    /// True if nothing is accepted, see [`crate::Tunnels::set_barred`].
    pub(crate) barred: bool,

    accepted: Accepted,
    pub(crate) reorder: Option<Box<EqualizedBuffer<P>>>,
    sources: Sources,
    pub(crate) config: Box<ConnectionConfig>,
    pub(crate) tally: Box<Tally>,
}

/// The part of a connection that is seldom used.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) inner_drops: InnerDrops,
    pub(crate) datagram_drops: DatagramDrops,
    remarks: Remarks,
    foreign_errors: foreign::Rate,
    /// True if one path may be several on the way: the order of its packets is no evidence of loss.
    entropy: bool,
    /// Paths that are measured, with [`Mapping::Adaptive`] only.
    pub(crate) adaptive: Option<Box<Adaptive>>,
    /// The paths that carry IPv6, where not every path does.
    ipv6: Option<Box<Ipv6Paths>>,
    /// The sealer of packets to be sent, where there are keys.
    sealer: Option<Box<Sealer>>,
    /// A 64-bit number that the connection had come to when its keys were last taken away or exchanged.
    reached: u64,
    /// The peer does not seal, and data is plain although sealing is wanted.
    plain_peer: bool,
    /// The encoder of forward error correction, where the peer restores packets from its symbols.
    encoder: Option<Box<RefCell<Encoder>>>,
    /// The restorer of packets from the peer's symbols, while some arrive.
    restorer: Option<Box<Restorer>>,
    /// The counts of former restorers.
    corrected: FecCounters,
}

/// A packet or super-packet that was offered to the connection. It stays where it is: copying its
/// headers from stage to stage takes a tenth of the time of sending it.
pub(crate) struct Offer<'a, 'b> {
    pub(crate) packet: &'a mut InnerPacket<'b>,
    pub(crate) now: Instant,
    /// Bytes that may wait in the queue.
    pub(crate) queue_limit: usize,
}

/// The outer headers of a packet or super-packet; see [`crate::Outgoing`].
pub(crate) struct Envelope {
    pub(crate) header: gre::Template,
    pub(crate) outer_tos: u8,
    pub(crate) flow_hash: u64,
    pub(crate) stored: Option<StoreId>,
    /// Forward error correction protects it.
    pub(crate) protected: bool,
    /// The other end delivers it at once, where it is sealed.
    pub(crate) at_once: bool,
}

/// The facts about a datagram that a connection needs besides its bytes.
pub(crate) struct Arrival {
    pub(crate) gre: gre::Repr,
    /// The offset of the inner packet in the datagram.
    pub(crate) payload: usize,
    pub(crate) outer_ecn: ecn::Ecn,
    /// It was sealed, and is open now.
    pub(crate) opened: Option<Opened>,
}

impl<P: Copy> Connection<P> {
    /// A connection without paths. (Those in `config` are for [`Self::attach`].)
    pub(crate) fn new(config: ConnectionConfig) -> Self {
        Self {
            scheduler: Scheduler::new(config.mapping),
            slots: SmallVec::new(),
            sent: Traffic::default(),
            key: config.key,
            next_sequence: 0,
            inner_mtu: 0,
            device: config.device,
            direction: config.direction,
            ecn: config.ecn,
            copy_dscp: config.copy_dscp,
            protection: Protection::new(&config, false),
            numbered: config.numbers() || config.seal.is_wanted(),
            hash_flows: false,
            quiet: false,
            barred: false,
            accepted: Accepted::default(),
            reorder: None,
            sources: Sources::new(&config.sources),
            config: Box::new(config),
            tally: Box::default(),
        }
    }

    /// Unique within the daemon.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Returns the TUN device it belongs to.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// Returns the configuration with all changes since, but without the paths.
    pub fn config(&self) -> &ConnectionConfig {
        &self.config
    }

    /// Returns the paths, in the order that decides ties of the scheduler.
    pub fn paths(&self) -> impl Iterator<Item = PathId> + Clone {
        self.slots.iter().copied().flatten()
    }

    /// Returns the path in a slot, if there is one.
    #[inline]
    pub(crate) fn path_in(&self, slot: usize) -> Option<PathId> {
        self.slots.get(slot).copied().flatten()
    }

    /// Returns the paths with their slots.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (usize, PathId)> {
        self.slots.iter().enumerate().filter_map(|(slot, &path)| Some((slot, path?)))
    }

    /// Returns the slot of a path, if it is one of this connection.
    pub(crate) fn slot_of(&self, path: PathId) -> Option<usize> {
        self.slots.iter().position(|&it| it == Some(path))
    }

    /// Largest inner packet it sends, in bytes. For IPv6 it may be larger, see
    /// [`Self::inner_mtu_ipv6`].
    pub fn inner_mtu(&self) -> u16 {
        self.inner_mtu
    }

    /// Largest inner IPv6 packet it sends, in bytes: over the paths that carry IPv6, which takes
    /// 1280 bytes. `None` where none does.
    pub fn inner_mtu_ipv6(&self) -> Option<u16> {
        match &self.tally.ipv6 {
            Some(ipv6) => ipv6.mtu,
            None => Some(self.inner_mtu),
        }
    }

    /// Returns the tier that carries data now; `None` if every path is down.
    pub fn active_tier(&self) -> Option<u16> {
        self.scheduler.active_tier()
    }

    /// Returns the sequence number of the next packet to be sent.
    pub fn next_sequence(&self) -> u32 {
        self.next_sequence
    }

    /// Inner packets sent. (Copies of duplicate mapping are counted by the paths.)
    pub fn sent(&self) -> Traffic {
        self.sent
    }

    /// Inner packets received, by the way they took.
    pub fn accepted(&self) -> &Accepted {
        &self.accepted
    }

    /// Remarkable packets.
    pub fn remarks(&self) -> &Remarks {
        &self.tally.remarks
    }

    /// Packets from the device that were not sent.
    pub fn inner_drops(&self) -> &InnerDrops {
        &self.tally.inner_drops
    }

    /// Datagrams from the network that were not accepted.
    pub fn datagram_drops(&self) -> &DatagramDrops {
        &self.tally.datagram_drops
    }

    /// Returns the reorder buffer, with its counters; `None` where nothing is put in order.
    pub fn reorder(&self) -> Option<&ReorderBuffer<P>> {
        self.reorder.as_deref().map(EqualizedBuffer::buffer)
    }

    /// Returns the reorder buffer with what is held before it.
    pub fn equalized(&self) -> Option<&EqualizedBuffer<P>> {
        self.reorder.as_deref()
    }

    /// Chooses paths and numbers for a packet or super-packet from the device; they go to
    /// `transmits`.
    pub(crate) fn encapsulate(
        &mut self,
        offer: Offer<'_, '_>,
        flow_seed: u64,
        paths: &mut Paths,
        transmits: &mut Vec<Transmit>,
    ) -> Result<Envelope, InnerDrop> {
        let InnerPacket { ref summary, segments, largest, .. } = *offer.packet;
        if !self.direction.sends() {
            return Err(InnerDrop::Direction);
        }
        let ipv6 = match summary.version {
            ip::Version::V6 => self.tally.ipv6.as_deref_mut(),
            ip::Version::V4 => None,
        };
        let (mtu, scheduler) = match ipv6 {
            Some(ipv6) => (ipv6.mtu.ok_or(InnerDrop::Ipv6MinimumMtu)?, &mut ipv6.scheduler),
            None => (self.inner_mtu, &mut self.scheduler),
        };
        if largest > usize::from(mtu) {
            return Err(InnerDrop::TooBig { mtu });
        }
        if !can_number(self.protection, &self.tally.sealer, self.next_sequence, segments) {
            return Err(InnerDrop::NoKeys);
        }
        if scheduler.mapping() == Mapping::Adaptive {
            return self.encapsulate_adaptive(offer, mtu, flow_seed, paths, transmits);
        }
        let InnerPacket { bytes: packet, summary, checksum, .. } = offer.packet;
        let flow_hash = if self.hash_flows { summary.flow_hash(flow_seed) } else { 0 };
        let sizes = SegmentSizes::new(summary, packet, segments, largest);

        for segment in 0..segments {
            let sequence = self.next_sequence;
            let bytes = sizes.of(segment);
            let mut transmit = |slot: usize| {
                let Some(id) = self.slots[slot] else { return };
                if let Some(path) = paths.found_mut(id) {
                    path.sent.add(1, bytes);
                }
                transmits.push(Transmit {
                    segment,
                    path: id,
                    sequence,
                    mark: false,
                    not_ect: false,
                });
            };
            match scheduler.next(flow_hash) {
                // All segments meet the same paths, so none has been sent.
                Choice::None => return Err(InnerDrop::NoPath),
                Choice::One(slot) => transmit(slot),
                Choice::Each(slots) => slots.iter().copied().for_each(transmit),
            }
            if self.numbered {
                self.next_sequence = sequence.wrapping_add(1);
            }
            self.sent.add(1, bytes);
        }
        if mss::clamp(packet, summary, mtu, *checksum) {
            self.tally.remarks.mss_clamped += 1;
        }
        let dscp = if self.copy_dscp { summary.tos } else { 0 };
        let ecn = ecn::encapsulate(summary.ecn(), self.ecn);
        Ok(Envelope {
            header: self.header(summary.version.into()),
            outer_tos: ecn.with_tos(dscp),
            flow_hash,
            stored: None,
            protected: false,
            at_once: self.is_unordered(),
        })
    }

    /// Returns the GRE header of what the connection sends now. The protocol type shows whether packets
    /// are sealed.
    pub fn header(&self, protocol: gre::Protocol) -> gre::Template {
        if let Some(sealer) = self.tally.sealer.as_ref().filter(|_| self.is_sealed()) {
            return sealed_header(sealer.index());
        }
        let checksum = self.protection == Protection::Checksum;
        gre::Template { protocol, checksum, key: self.key, numbered: self.numbered }
    }

    /// Checks a datagram that was assigned to one of our paths, if any is admitted.
    // By a call, its result goes through memory, and what reads it in other pieces than it was written in waits.
    #[inline(always)]
    pub(crate) fn accept(
        &mut self,
        arrival: &Arrival,
        datagram: &mut [u8],
        path: &mut Path,
    ) -> Result<Received, DatagramDrop> {
        if self.is_sealed() && arrival.opened.is_none() {
            return Err(DatagramDrop::NotSealed);
        }
        let inner = &mut datagram[arrival.payload..];
        let unordered = arrival.opened.is_some() && protection::take_unordered(inner);
        let Ok(summary) = ip::Summary::parse(inner) else {
            return self.not_ip(inner, path, arrival.payload);
        };
        // Whatever follows the inner packet is not part of it.
        let Some(inner) = inner.get_mut(..summary.total_len) else {
            return Err(DatagramDrop::Malformed);
        };
        let named = arrival.opened.is_some() || arrival.gre.protocol == summary.version.into();
        if !named && !self.config.loose {
            return Err(DatagramDrop::InnerVersion);
        }
        let foreign_error = self.check_source(&summary, inner)?;
        if self.is_restoring()
            && let Some(number) = arrival.gre.sequence.filter(|_| !arrival.is_copy())
        {
            self.note_for_symbols(number, inner);
        }

        let ecn =
            ecn::decapsulate(summary.ecn(), arrival.outer_ecn).map_err(|_| DatagramDrop::Ecn)?;
        if ecn != summary.ecn() {
            ecn::set(inner, ecn);
        }
        self.clamp_mss(&summary, inner);
        if !path.is_up() {
            self.tally.remarks.path_down += 1;
        }
        path.received.add(1, summary.total_len as u64);
        // The number of a packet that does not wait still tells what is missing.
        let counts = !unordered || self.reorder.as_ref().is_some_and(|it| it.classifies());
        let class = match unordered && self.config.repair != Repair::All {
            true => Class::Other,
            false => self.class_for_play_out(&summary, inner),
        };

        Ok(Received::Packet(AcceptedDatagram {
            connection: path.connection,
            slot: path.slot,
            sequence: arrival.gre.sequence.filter(|_| counts),
            copy: arrival.is_copy(),
            class,
            marked: arrival.outer_ecn == ecn::Ecn::Ce,
            foreign_error,
            inner: arrival.payload..arrival.payload + summary.total_len,
        }))
    }

    /// Lowers the MSS option of a SYN from the peer to what fits.
    #[inline(always)]
    fn clamp_mss(&mut self, summary: &ip::Summary, inner: &mut [u8]) {
        let mtu = match summary.version {
            ip::Version::V6 => self.inner_mtu_ipv6().unwrap_or(IPV6_MINIMUM),
            _ => self.inner_mtu,
        };
        if mss::clamp(inner, summary, mtu, ChecksumState::Complete) {
            self.tally.remarks.mss_clamped += 1;
        }
    }

    /// Returns what a packet from the peer is to the play-out.
    #[inline(always)]
    fn class_for_play_out(&self, summary: &ip::Summary, inner: &[u8]) -> Class {
        match &self.reorder {
            Some(reorder) if reorder.classifies() => {
                let ConnectionConfig { prompt, repair, .. } = &*self.config;
                class_of(prompt, *repair, summary, inner, reorder.plays())
            }
            _ if summary.protocol == ip::protocol::TCP => Class::Payload { flow: 0, large: true },
            _ => Class::Other,
        }
    }

    /// Delivers an accepted packet, or has the reorder buffer do so.
    #[inline]
    pub(crate) fn receive<S: DeviceSink<P>>(
        &mut self,
        at: Times,
        datagram: &AcceptedDatagram,
        packet: P,
        sink: &mut S,
    ) {
        let device = self.device;
        if datagram.copy {
            return self.receive_copy(at, datagram, sink);
        }
        if datagram.foreign_error && !self.admit_foreign_error(at.now()) {
            return;
        }
        match (datagram.sequence, &mut self.reorder) {
            (Some(sequence), Some(reorder)) => {
                self.accepted.sequenced += 1;
                let sink = &mut ToDevice { device, sink };
                let (slot, class) = (usize::from(datagram.slot), datagram.class);
                if let Some(observer) = reorder.observer_mut() {
                    if slot == RESTORED {
                        observer.note_restored(at.now(), sequence);
                        return reorder.receive(at, slot, sequence, packet, class, sink);
                    }
                    let (bytes, marked) = (datagram.inner.len() as u32, datagram.marked);
                    observer.note(at, slot, sequence, bytes, marked);
                }
                reorder.receive(at, slot, sequence, packet, class, sink);
            }
            (sequence, _) => {
                match sequence {
                    Some(_) => self.accepted.sequence_ignored += 1,
                    None => self.accepted.unsequenced += 1,
                }
                sink.deliver(device, packet, false, false);
            }
        }
    }
}

impl Arrival {
    /// Returns true if another path has brought the same packet before.
    fn is_copy(&self) -> bool {
        self.opened.is_some_and(|opened| opened.copy)
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests;
