//! The counters of packets.

pub(super) mod delays;

/// The counters of the packets of one connection since it exists.
///
/// Each packet is counted once in `in_order`, `after_gap`, `late`, `duplicate`, `overflow` or
/// `stray`: on arrival, except that a packet which has to wait is counted on delivery, as
/// `in_order` or `after_gap` (or as `discarded`, when the buffer is taken down first).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)] // `in_order` first, see `ReorderBuffer`
pub struct Counters {
    /// Delivered in sequence, directly after the number before.
    pub in_order: u64,
    /// Delivered in sequence, but numbers directly before were given up.
    pub after_gap: u64,
    /// Arrived after its number had been given up.
    pub late: u64,
    /// Arrived before; dropped.
    pub duplicate: u64,
    /// Arrived ahead of the window, or when no more memory was to be had: made the window slide.
    pub overflow: u64,
    /// So far from the number due that nothing can be said about it.
    pub stray: u64,
    /// Delivered before numbers that were still to come, since it is wanted at once: it belongs to no bulk flow, or its
    /// class does not wait.
    pub ahead: u64,
    /// Late and stray packets that were dropped for strict order.
    pub dropped: u64,
    /// Stored packets dropped because the buffer was taken down.
    pub discarded: u64,

    /// Numbers (not packets) given up because the evidence said that they are lost.
    pub lost: u64,
    /// Numbers given up because a packet had waited the maximum delay for them.
    pub expired: u64,
    /// Numbers given up because the window had to slide.
    pub skipped: u64,
    /// Packets (counted above as well) that were delivered before it was their time, since there was no room for more to wait.
    pub early: u64,
    /// The number of times the window was moved because its position was wrong.
    pub moves: u64,
}

impl Counters {
    /// Packets counted so far; with those that wait, all that arrived.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.in_order
            + self.after_gap
            + self.late
            + self.duplicate
            + self.overflow
            + self.stray
            + self.ahead
            + self.discarded
    }

    /// Returns those of [`Counters::packets`] that were delivered. (A packet counted as overflow may still
    /// be waiting in its place at the end of the window; it will be delivered.)
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.packets() - self.duplicate - self.dropped - self.discarded
    }
}
