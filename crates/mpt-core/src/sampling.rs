//! The choice of the packets that are measured: about as many between two messages to or from the
//! peer, whatever comes.

/// The usual number of packets that are chosen between two messages.
pub(crate) const WANTED: usize = 24;

/// Chooses packets by their numbers, since those that come together tell little of how delays
/// differ; two in a row, since those that leave together tell most.
#[derive(Debug, Default)]
pub(crate) struct Sampling {
    /// One pair of numbers in this many is chosen; 0 counts as 1.
    every: u32,
    /// The packets since the last message; the count stops at its greatest value.
    pub(crate) packets: u32,
}

impl Sampling {
    /// Notes a packet. Returns true if it is chosen.
    #[inline]
    pub(crate) fn note(&mut self, number: u32) -> bool {
        self.packets = self.packets.saturating_add(1);
        (number / 2).is_multiple_of(self.every.max(1))
    }

    /// Chooses half as many from now on.
    pub(crate) fn choose_fewer(&mut self) {
        self.every = 2 * self.every.max(1);
    }

    /// Begins anew after a message, with about as many chosen until the next one as are `wanted`.
    pub(crate) fn restart(&mut self, wanted: usize) {
        self.every = self.packets / wanted.max(1) as u32;
        self.packets = 0;
    }
}
