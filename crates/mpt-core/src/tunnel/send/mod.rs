//! From the TUN devices to the network.

mod departure;
pub(super) mod packet;
pub(super) mod transmit;
pub(super) mod turns;

use std::cell::RefCell;
use std::time::Instant;

use mpt_wire::checksum::Sum;
use mpt_wire::ecn::{self, Ecn};
use mpt_wire::gre;

use super::{InnerDrop, InnerPacket, Transmit, Tunnels};
use crate::fec::Encoder;
use crate::seal::{Sealer, TAG_LEN};
use crate::tunnel::connection::{Envelope, Offer, UNORDERED};
use crate::tunnel::filter::scope;
use crate::{ConnectionId, DeviceId, Mapping, StoreId};

/// The way to send a packet or super-packet.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The connection that carries it.
    pub connection: ConnectionId,
    /// The GRE header, which [`Self::frame`] completes by the number of each [`Transmit`].
    pub header: gre::Template,
    /// The sealing of the packets, if they are sealed.
    pub(crate) sealing: Option<Sealing<'a>>,
    /// The encoder that protects the packets, if they are protected.
    pub(crate) protection: Option<&'a RefCell<Encoder>>,
    /// TOS or traffic class of the outer header, DSCP and ECN, as far as the packet decides:
    /// [`Self::tos_of`] a datagram may differ.
    pub outer_tos: u8,
    /// Hash of the flow, for entropy source ports and the IPv6 flow label. 0 where no path of the
    /// connection uses entropy and the mapping is not by flow.
    pub flow_hash: u32,
    /// The transmits that leave now, by ascending segment: at least one for each where `stored` is
    /// `None`.
    pub transmits: &'a [Transmit],
    /// The packet waits in the queue of the connection with the segments that do not leave now: the
    /// owner keeps its bytes under this id until a [`Departure`] releases it.
    pub stored: Option<StoreId>,
}

/// Segments of a stored packet that leave the queue of their connection.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// The packet, as [`Outgoing::stored`] named it.
    pub packet: StoreId,
    /// The way to send the segments that leave now. None leaves where the rest was dropped.
    pub outgoing: Outgoing<'a>,
    /// No segment is left: the owner forgets the packet, and its id is free for another one.
    pub released: bool,
}

/// The sealing of packets that are to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealing<'a> {
    sealer: &'a Sealer,
    /// Packets from this number on may have to be sent again.
    kept_from: Option<u32>,
    /// The other end delivers them at once.
    unordered: bool,
}

impl Outgoing<'_> {
    /// Bytes of the GRE header of each datagram.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        self.header.header_len()
    }

    /// TOS or traffic class of the outer header of one of its datagrams.
    #[inline]
    #[must_use]
    pub fn tos_of(&self, transmit: &Transmit) -> u8 {
        if transmit.not_ect { Ecn::NotEct.with_tos(self.outer_tos) } else { self.outer_tos }
    }

    /// Bytes behind the inner packet in each datagram: those of the tag, where packets are sealed.
    #[inline]
    #[must_use]
    pub fn trailer_len(&self) -> usize {
        if self.is_sealed() { TAG_LEN } else { 0 }
    }

    /// Returns true if packets are sealed, so that each has to be in one piece ([`Self::frame`]).
    #[inline]
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.sealing.is_some()
    }

    /// Makes a datagram of what is in `datagram`: [`Self::header_len`] bytes for the header, the inner
    /// packet, and [`Self::trailer_len`] bytes for the tag. Marks the packet where the queue asks for
    /// it. Seals it, where packets are sealed; then
    /// the segments are given in the order of their numbers, and the copies of a datagram are copied. A
    /// packet that is sent again ([`crate::Node::poll_departure`]) has to be the same as the first time.
    ///
    /// Returns false if it must not be sent: there are no keys to seal it with any more, or it is another packet than the one that was sealed under
    /// this number. The content of `datagram` then has no meaning.
    ///
    /// # Panics
    ///
    /// If `datagram` is shorter than header and trailer.
    #[inline]
    #[must_use]
    pub fn frame(&self, transmit: &Transmit, datagram: &mut [u8]) -> bool {
        let inner = self.header_len()..datagram.len() - self.trailer_len();
        mark(transmit, &mut datagram[inner.clone()]);
        self.protect(transmit, [&datagram[inner], &[]]);
        let Some(Sealing { sealer, kept_from, unordered }) = self.sealing else {
            self.write_header(transmit, datagram, &[]);
            return true;
        };
        self.header.with(transmit.sequence).emit(datagram);
        if unordered {
            datagram[self.header_len()] |= UNORDERED;
        }
        sealer.seal(transmit.sequence, kept_from, datagram)
    }

    /// Makes a datagram like [`Self::frame`], but in two pieces, where packets are not sealed:
    /// `head` has room for the header and what follows it there, at least the IP header of the inner
    /// packet, and then comes `payload`.
    ///
    /// Returns false, and writes nothing, where packets are sealed: the datagram must not be sent.
    ///
    /// # Panics
    ///
    /// If `head` is shorter than the header.
    #[inline]
    #[must_use]
    pub fn frame_pieces(&self, transmit: &Transmit, head: &mut [u8], payload: &[u8]) -> bool {
        let plain = !self.is_sealed();
        if plain {
            mark(transmit, &mut head[self.header_len()..]);
            self.protect(transmit, [&head[self.header_len()..], payload]);
            self.write_header(transmit, head, payload);
        }
        plain
    }

    /// Lets a repair symbol cover the packet, both pieces of it, if it is protected.
    #[inline]
    fn protect(&self, transmit: &Transmit, inner: [&[u8]; 2]) {
        if let Some(encoder) = self.protection {
            encoder.borrow_mut().note(transmit.sequence, transmit.path, inner);
        }
    }

    #[inline]
    fn write_header(&self, transmit: &Transmit, head: &mut [u8], payload: &[u8]) {
        self.header.with(transmit.sequence).emit(head);
        if self.header.checksum {
            let (header, inner) = head.split_at_mut(self.header_len());
            let mut sum = Sum::new();
            sum.add_bytes(inner);
            sum.add_bytes(payload);
            gre::Repr::fill_checksum(header, sum);
        }
    }
}

/// Tells the flow of an inner packet to slow down, where the queue asks for it.
#[inline]
fn mark(transmit: &Transmit, inner: &mut [u8]) {
    if transmit.mark {
        ecn::set(inner, Ecn::Ce);
    }
}

/// A packet or super-packet that has its connection, its numbers and its paths.
pub(crate) struct Sent {
    connection: ConnectionId,
    envelope: Envelope,
}

impl<P: Copy> Tunnels<P> {
    /// Sends a packet that is classified already. The result is the argument of [`Self::outgoing`].
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        device: DeviceId,
        mut packet: InnerPacket<'_>,
    ) -> Result<Sent, InnerDrop> {
        packet.segments = packet.segments.max(1);
        self.transmits.clear();
        match self.encapsulate(now, device, &mut packet) {
            Ok((connection, envelope)) => Ok(Sent { connection, envelope }),
            Err((connection, reason)) => {
                let connection = connection.and_then(|id| self.connections.found_mut(id));
                let drops =
                    connection.map_or(&mut self.inner_drops, |it| &mut it.tally.inner_drops);
                drops.add(reason, u64::from(packet.segments));
                Err(reason)
            }
        }
    }

    /// Returns how to send what [`Self::send`] was given last.
    #[inline]
    pub(crate) fn outgoing(&self, sent: Sent) -> Outgoing<'_> {
        Outgoing {
            connection: sent.connection,
            header: sent.envelope.header,
            sealing: self.sealing_of(sent.connection, sent.envelope.at_once),
            protection: self.protection_of(sent.connection, sent.envelope.protected),
            outer_tos: sent.envelope.outer_tos,
            flow_hash: (sent.envelope.flow_hash >> 32) as u32,
            transmits: &self.transmits,
            stored: sent.envelope.stored,
        }
    }

    /// Returns what protects the packets of a connection, if they are protected.
    #[inline]
    pub(super) fn protection_of(
        &self,
        id: ConnectionId,
        protected: bool,
    ) -> Option<&RefCell<Encoder>> {
        self.connections.found(id).filter(|_| protected)?.encoder()
    }

    /// Returns what seals the packets of a connection, if they are sealed. `unordered`: the other end delivers them at
    /// once.
    #[inline]
    pub(super) fn sealing_of(&self, id: ConnectionId, unordered: bool) -> Option<Sealing<'_>> {
        let connection = self.connections.found(id)?;
        let sealer = connection.sealer()?;
        Some(Sealing { sealer, kept_from: connection.repeats_from(), unordered })
    }

    #[inline]
    fn encapsulate(
        &mut self,
        now: Instant,
        device: DeviceId,
        packet: &mut InnerPacket<'_>,
    ) -> Result<(ConnectionId, Envelope), (Option<ConnectionId>, InnerDrop)> {
        let summary = &packet.summary;
        let id = if scope::stays_on_link(summary) {
            self.tables.multicast(device).ok_or((None, InnerDrop::Multicast))?
        } else if self.tables.outers.contains(summary) {
            return Err((None, InnerDrop::RoutingLoop));
        } else {
            let found = self.tables.selectors.lookup(device, summary);
            found.ok_or((None, InnerDrop::NoConnection))?
        };
        let Some(connection) = self.connections.found_mut(id) else {
            return Err((None, InnerDrop::NoConnection));
        };
        if connection.quiet {
            connection.quiet = false;
            self.woken.push(id);
        }
        let offer = Offer { packet, now, queue_limit: self.queue_limit };
        let envelope =
            connection.encapsulate(offer, self.flow_seed, &mut self.paths, &mut self.transmits);
        if connection.scheduler.mapping() == Mapping::Adaptive {
            let waits = |it: &Envelope| it.stored.is_some() || it.protected;
            self.follow_queue(id, envelope.as_ref().is_ok_and(waits));
        }
        envelope.map(|envelope| (id, envelope)).map_err(|reason| (Some(id), reason))
    }

    /// A packet was given to an adaptive connection; `waits`: it does, or a symbol will follow it.
    #[cold]
    fn follow_queue(&mut self, id: ConnectionId, waits: bool) {
        let Some(connection) = self.connections.found_mut(id) else { return };
        if connection.tally.adaptive.as_mut().is_some_and(|adaptive| adaptive.take_resumed()) {
            self.woken.push(id);
        }
        if waits && let Some(at) = connection.next_timeout() {
            self.timers.set_no_later(id.index() as u32, at);
        }
    }
}
