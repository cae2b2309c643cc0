//! A datagram that passed all checks.

use std::ops::Range;

use crate::{ConnectionId, reorder};

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
