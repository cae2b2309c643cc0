//! The memory of received packets, which the owner of a node has.

use std::ops::Range;

use crate::{ConnectionId, DeviceId, DeviceSink};

/// The owner's memory of received packets, by handle, and its devices.
pub trait PacketMemory<P>: DeviceSink<P> {
    /// Returns the bytes of a datagram that was just received.
    fn bytes_mut(&mut self, datagram: P) -> &mut [u8];

    /// Takes note that the datagram is data of a connection. Returns the handle of the inner
    /// packet, which is at `inner`. [`keep`](DeviceSink::keep) refers to this packet until the next
    /// datagram.
    fn accept(&mut self, datagram: P, connection: ConnectionId, inner: Range<usize>) -> P;

    /// Takes an inner packet that was restored from symbols of forward error correction, as if it had just been
    /// received. Returns its handle, or `None` if there is no room for it. By default there never is.
    fn restored(&mut self, _connection: ConnectionId, _packet: &[u8]) -> Option<P> {
        None
    }
}

/// A datagram lent for one call, for ends that have sessions and no device: no packet is delivered.
#[derive(Debug)]
pub struct Lent<'a>(pub &'a mut [u8]);

/// The place of a packet in a [`Lent`] datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset of its first byte.
    pub start: usize,
    /// The offset behind its last byte.
    pub end: usize,
}

impl Lent<'_> {
    /// Returns the handle of the whole datagram.
    #[must_use]
    pub fn whole(&self) -> Span {
        Span { start: 0, end: self.0.len() }
    }
}

impl DeviceSink<Span> for Lent<'_> {
    /// Returns `None`: no packet outlasts the call.
    fn keep(&mut self, _: Span) -> Option<Span> {
        None
    }

    fn deliver(&mut self, _: DeviceId, _: Span, _kept: bool, _after_gap: bool) {}

    fn discard(&mut self, _: Span) {}
}

impl PacketMemory<Span> for Lent<'_> {
    fn bytes_mut(&mut self, datagram: Span) -> &mut [u8] {
        &mut self.0[datagram.start..datagram.end]
    }

    fn accept(&mut self, datagram: Span, _: ConnectionId, inner: Range<usize>) -> Span {
        Span { start: datagram.start + inner.start, end: datagram.start + inner.end }
    }
}
