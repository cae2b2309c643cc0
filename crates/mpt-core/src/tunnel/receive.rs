//! From the network to the TUN devices.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::ops::Range;
use std::time::Instant;

use mpt_wire::{ecn, gre};

use super::Tunnels;
use crate::tunnel::connection::{Arrival, index};
use crate::tunnel::counters::DatagramDrops;
use crate::{ConnectionId, DeviceId, PathId, SocketId, reorder};

/// Where received packets go.
pub trait DeviceSink<P> {
    /// The packet has to wait: gives the handle that stays valid, or `None` when there is no room
    /// (see [`reorder::Sink::keep`]).
    fn keep(&mut self, packet: P) -> Option<P>;

    /// The packet goes to the device. `kept`: it went through [`Self::keep`]. `after_gap`: numbers
    /// directly before it were given up, nothing may be coalesced across.
    fn deliver(&mut self, device: DeviceId, packet: P, kept: bool, after_gap: bool);

    /// The packet is dropped.
    fn discard(&mut self, packet: P);
}

/// Takes packets that nobody wants: for ends that have a session and no data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl<P> DeviceSink<P> for Nowhere {
    fn keep(&mut self, packet: P) -> Option<P> {
        Some(packet)
    }

    fn deliver(&mut self, _: DeviceId, _: P, _kept: bool, _after_gap: bool) {}

    fn discard(&mut self, _: P) {}
}

/// Gives the reorder buffer of a connection the device it delivers to.
pub(crate) struct ToDevice<'a, S> {
    pub(crate) device: DeviceId,
    pub(crate) sink: &'a mut S,
}

impl<P, S: DeviceSink<P>> reorder::Sink<P> for ToDevice<'_, S> {
    #[inline]
    fn keep(&mut self, packet: P) -> Option<P> {
        self.sink.keep(packet)
    }

    #[inline]
    fn deliver(&mut self, packet: P, kept: bool, after_gap: bool) {
        self.sink.deliver(self.device, packet, kept, after_gap);
    }

    fn discard(&mut self, packet: P) {
        self.sink.discard(packet);
    }
}

/// Why a datagram was not accepted. Each reason has its counter, of the same name, in
/// [`DatagramDrops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "DatagramDrops says what each means")]
pub enum DatagramDrop {
    Truncated,
    ReservedFlags,
    Version,
    Checksum,
    UnknownProtocol,
    Control,
    UnknownSender,
    WrongKey,
    MissingKey,
    Barred,
    Direction,
    Malformed,
    InnerVersion,
    ForeignSource,
    Multicast,
    NotSealed,
    UnknownIndex,
    SealedHeader,
    Replayed,
    SealedUnopened,
    Ecn,
    /// No IP packet, but from the peer of a [`loose`](crate::ConnectionConfig::loose) connection
    /// over this path: perhaps a message of its own. Counted as malformed by those who drop it.
    NotIp(PathId),
}

impl From<gre::Error> for DatagramDrop {
    fn from(error: gre::Error) -> Self {
        match error {
            gre::Error::Truncated => Self::Truncated,
            gre::Error::ReservedFlags => Self::ReservedFlags,
            gre::Error::Version => Self::Version,
            gre::Error::Checksum => Self::Checksum,
        }
    }
}

impl DatagramDrops {
    fn add(&mut self, reason: DatagramDrop) {
        let counter = match reason {
            DatagramDrop::Truncated => &mut self.truncated,
            DatagramDrop::ReservedFlags => &mut self.reserved_flags,
            DatagramDrop::Version => &mut self.version,
            DatagramDrop::Checksum => &mut self.checksum,
            DatagramDrop::UnknownProtocol => &mut self.unknown_protocol,
            DatagramDrop::Control => &mut self.control,
            DatagramDrop::UnknownSender => &mut self.unknown_sender,
            DatagramDrop::WrongKey => &mut self.wrong_key,
            DatagramDrop::MissingKey => &mut self.missing_key,
            DatagramDrop::Barred => &mut self.barred,
            DatagramDrop::Direction => &mut self.direction,
            DatagramDrop::Malformed | DatagramDrop::NotIp(_) => &mut self.malformed,
            DatagramDrop::InnerVersion => &mut self.inner_version,
            DatagramDrop::ForeignSource => &mut self.foreign_source,
            DatagramDrop::Multicast => &mut self.multicast,
            DatagramDrop::NotSealed => &mut self.not_sealed,
            DatagramDrop::UnknownIndex => &mut self.unknown_index,
            DatagramDrop::SealedHeader => &mut self.sealed_header,
            DatagramDrop::Replayed => &mut self.replayed,
            DatagramDrop::SealedUnopened => &mut self.sealed_unopened,
            DatagramDrop::Ecn => &mut self.ecn,
        };
        *counter += 1;
    }
}

/// A datagram that passed all checks: what [`Tunnels::receive`] needs of it.
#[derive(Clone, Debug)]
pub struct AcceptedDatagram {
    pub(crate) connection: ConnectionId,
    /// The path's slot in its connection.
    pub(crate) slot: u16,
    pub(crate) sequence: Option<u32>,
    /// Another path has brought the same packet before.
    pub(crate) copy: bool,
    /// What the inner packet is to the play-out.
    pub(crate) class: reorder::Class,
    /// Whether the outer header says "congestion experienced".
    pub(crate) marked: bool,
    /// Whether it is an ICMP error from outside the connection's networks, whose rate is limited.
    pub(crate) foreign_error: bool,
    pub(crate) inner: Range<usize>,
}

impl AcceptedDatagram {
    /// The connection that it came on.
    #[inline]
    pub fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// Where in the datagram the inner packet is.
    #[inline]
    pub fn inner(&self) -> Range<usize> {
        self.inner.clone()
    }
}

impl<P: Copy> Tunnels<P> {
    /// Judges one datagram (GRE header and inner packet) from a socket. Its inner ECN and MSS
    /// fields may be changed. What is accepted has to be handed to [`Self::receive`]; these are two
    /// calls so that the caller may lend the datagram's bytes to the first and to its
    /// [`DeviceSink`] in the second.
    ///
    /// Packets with and without a sequence number may be mixed, as a plain RFC 8086 peer may: those
    /// without are delivered at once, and so are those with one where the connection uses none.
    ///
    /// A frame of the control protocol is an error, but not counted: what follows its GRE header is
    /// for [`crate::session::Sessions`]. Where there is none, [`Self::count_drop`] counts it. The same
    /// goes for [`DatagramDrop::NotIp`].
    #[inline]
    pub fn accept(
        &mut self,
        socket: SocketId,
        remote: SocketAddr,
        outer_ecn: ecn::Ecn,
        datagram: &mut [u8],
    ) -> Result<AcceptedDatagram, DatagramDrop> {
        self.decapsulate(socket, remote, outer_ecn, datagram).map_err(|(connection, reason)| {
            if let DatagramDrop::Control | DatagramDrop::NotIp(_) = reason {
                return reason;
            }
            let connection = connection.and_then(|id| self.connections[index(id)].as_mut());
            let drops =
                connection.map_or(&mut self.datagram_drops, |it| &mut it.tally.datagram_drops);
            drops.add(reason);
            reason
        })
    }

    /// Counts a datagram that the caller drops.
    pub fn count_drop(&mut self, reason: DatagramDrop) {
        self.datagram_drops.add(reason);
    }

    /// Delivers the inner packet of an accepted datagram, or has the reorder buffer do so. `packet`
    /// is the caller's handle of it.
    #[inline]
    pub fn receive<S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        accepted: &AcceptedDatagram,
        packet: P,
        sink: &mut S,
    ) {
        let id = accepted.connection;
        let Some(connection) = self.connections.get_mut(index(id)).and_then(Option::as_mut) else {
            return;
        };
        connection.receive(now, accepted, packet, sink);
        if connection.has_found_gap() {
            self.found.push(id);
        }
        if let Some(time) = connection.reorder.as_ref().and_then(|reorder| reorder.next_timeout()) {
            self.timers.set_no_later(id.0, time);
        }
    }

    /// [`Self::accept`] and [`Self::receive`] in one, where the sink does not need the datagram's
    /// bytes. `packet` makes the handle of the inner packet from its place in the datagram; it is
    /// called when the packet is accepted. Frames of the control protocol are dropped and counted.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a datagram is all of that")]
    pub fn handle_datagram<S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        socket: SocketId,
        remote: SocketAddr,
        outer_ecn: ecn::Ecn,
        datagram: &mut [u8],
        packet: impl FnOnce(Range<usize>) -> P,
        sink: &mut S,
    ) -> Result<(), DatagramDrop> {
        let accepted = self.accept(socket, remote, outer_ecn, datagram).inspect_err(|&reason| {
            if let DatagramDrop::Control | DatagramDrop::NotIp(_) = reason {
                self.count_drop(reason);
            }
        })?;
        self.receive(now, &accepted, packet(accepted.inner()), sink);
        Ok(())
    }

    #[inline]
    fn decapsulate(
        &mut self,
        socket: SocketId,
        remote: SocketAddr,
        outer_ecn: ecn::Ecn,
        datagram: &mut [u8],
    ) -> Result<AcceptedDatagram, (Option<ConnectionId>, DatagramDrop)> {
        let unassigned = |reason| (None, reason);
        let (gre, payload) =
            gre::Repr::parse(datagram).map_err(|error| unassigned(error.into()))?;
        match gre.protocol {
            gre::Protocol::IPV4 | gre::Protocol::IPV6 => {}
            gre::Protocol::CONTROL => return Err(unassigned(DatagramDrop::Control)),
            gre::Protocol::SEALED => {
                return self.decapsulate_sealed(socket, remote, outer_ecn, gre, datagram);
            }
            _ => return Err(unassigned(DatagramDrop::UnknownProtocol)),
        }
        let path_id =
            self.tables.assignments.lookup(socket, remote, gre.key).map_err(unassigned)?;
        let unknown = unassigned(DatagramDrop::UnknownSender);
        let path = self.paths.at_mut(path_id).ok_or(unknown)?;
        let id = path.connection;
        let connection = self.connections[index(id)].as_mut().ok_or(unknown)?;
        connection.admit().map_err(|reason| (Some(id), reason))?;
        let arrival = Arrival { gre, payload, outer_ecn, opened: None };
        let accepted = connection.accept(&arrival, datagram, path);
        if accepted.is_ok() {
            path.heard_port = NonZeroU16::new(remote.port());
        }
        accepted.map_err(|reason| (Some(id), reason))
    }
}
