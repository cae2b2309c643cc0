//! The output of the receive window: packets, and the verdict about the one that came in.

#[cfg(doc)]
use super::{EqualizedBuffer, ReorderBuffer};

/// The receiver of packets. `P` is a small handle, not the bytes.
pub trait Sink<P> {
    /// The packet has to wait. Returns the handle that stays valid until it is delivered or
    /// discarded, or `None` when no more bytes may be kept: then the window is emptied and the
    /// packet delivered at once.
    fn keep(&mut self, packet: P) -> Option<P>;

    /// The packet is delivered. `kept`: the handle was returned by [`Sink::keep`]. `after_gap`: it
    /// does not follow the packet delivered before directly, so nothing may be coalesced across.
    fn deliver(&mut self, packet: P, kept: bool, after_gap: bool);

    /// A kept packet is dropped undelivered: by [`ReorderBuffer::discard`], or since an
    /// [`EqualizedBuffer`] kept it before it was known to be a duplicate or late.
    fn discard(&mut self, packet: P);
}

/// The verdict about a packet on its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Delivered, directly after the number before.
    InOrder,
    /// Delivered in sequence; numbers directly before it were given up.
    AfterGap,
    /// Waits in the window. (It may have been delivered since, if the evidence allowed that.)
    Stored,
    /// Its number had been given up; delivered at once.
    Late,
    /// Late as in [`Verdict::Late`], and dropped for strict order.
    LateDropped,
    /// Came before; dropped.
    Duplicate,
    /// Ahead of the window, or no more bytes may be kept; the window slid or was emptied.
    Overflow,
    /// Too far from the window; delivered at once.
    Stray,
    /// Stray as in [`Verdict::Stray`], and dropped for strict order.
    StrayDropped,
}

impl Verdict {
    /// True if the packet was dropped.
    #[must_use]
    pub const fn is_dropped(self) -> bool {
        matches!(self, Self::LateDropped | Self::Duplicate | Self::StrayDropped)
    }
}
