//! Sending and receiving on a connection whose data is sealed.

use super::Connection;
use super::protection::{Protection, can_number};
use crate::Times;
use crate::seal::{Sealer, extend};
use crate::tunnel::{AcceptedDatagram, DeviceSink, ToDevice};

impl<P: Copy> Connection<P> {
    /// Returns true if its data is sealed: nothing plain is sent or accepted.
    pub fn is_sealed(&self) -> bool {
        self.protection == Protection::Sealed
    }

    /// Returns true if it has keys to seal with.
    pub fn has_seal_keys(&self) -> bool {
        self.tally.sealer.is_some()
    }

    /// Returns what seals its packets, if they are sealed.
    #[inline]
    pub(crate) fn sealer(&self) -> Option<&Sealer> {
        self.tally.sealer.as_deref().filter(|_| self.is_sealed())
    }

    /// The lowest number that may be sent again; `None` while nothing is kept for it.
    #[inline]
    pub(crate) fn repeats_from(&self) -> Option<u32> {
        self.tally.adaptive.as_ref()?.repeats_from()
    }

    /// Returns true if sealed packets are to be delivered at once at the other end.
    #[inline]
    pub(crate) fn is_unordered(&self) -> bool {
        !self.config.numbers()
    }

    /// Returns true if so many more packets can be numbered.
    #[inline]
    pub(super) fn can_number(&self, packets: u16) -> bool {
        can_number(self.protection, &self.tally.sealer, self.next_sequence, packets)
    }

    /// Says whether the peer is one that does not seal, and may do so.
    pub(crate) fn set_plain_peer(&mut self, plain: bool) {
        self.tally.plain_peer = plain;
        self.refresh_seal();
    }

    /// Follows the configuration: where sealing is wanted, data is sealed unless the session has said
    /// otherwise.
    pub(super) fn refresh_seal(&mut self) {
        let former = self.protection;
        self.protection = Protection::new(&self.config, self.tally.plain_peer);
        let sealed = self.is_sealed();
        if self.protection != former
            && let Some(adaptive) = &mut self.tally.adaptive
        {
            // It would not leave as it left before, and what was sealed never leaves plain.
            adaptive.forget_kept();
        }
        self.numbered = sealed || self.config.numbers();
        if let Some(reorder) = &mut self.reorder {
            reorder.buffer_mut().trust_numbers(sealed);
        }
    }

    /// Leaves the next numbers unused. Returns false, and changes nothing, if the keys end before.
    pub(crate) fn skip_numbers(&mut self, count: u64) -> bool {
        let number = self.next_number().saturating_add(count);
        let next = number as u32;
        let fits = match &self.tally.sealer {
            Some(sealer) => sealer.number_of(next) == number && sealer.has_room(next, 1),
            None => true,
        };
        if fits {
            self.next_sequence = next;
            self.tally.reached = number;
        }
        fits
    }

    /// Returns the 64-bit number of the next packet. It goes on while there are no keys.
    pub(crate) fn next_number(&self) -> u64 {
        match &self.tally.sealer {
            Some(sealer) => sealer.number_of(self.next_sequence),
            None => extend(self.tally.reached, self.next_sequence),
        }
    }

    /// Uses other keys to seal with from now on. They are not used if they are for higher numbers than
    /// this connection has come to: its numbers began anew since the handshake.
    pub(crate) fn set_sealer(&mut self, sealer: Box<Sealer>) {
        self.tally.reached = self.next_number();
        let fits = sealer.skip_to(self.next_sequence);
        self.tally.sealer = fits.then_some(sealer);
    }

    /// Seals nothing until there are other keys. With an `index`, it does so only if the keys are for the peer's keys of this index.
    pub(crate) fn drop_sealer(&mut self, index: Option<u32>) {
        self.tally.reached = self.next_number();
        let is = |sealer: &mut Box<Sealer>| index.is_none_or(|index| sealer.index() == index);
        self.tally.sealer.take_if(is);
    }

    /// Takes note of a copy of a packet that another path has brought before: it says that its path
    /// works, and is dropped.
    #[cold]
    pub(super) fn receive_copy<S: DeviceSink<P>>(
        &mut self,
        at: Times,
        datagram: &AcceptedDatagram,
        sink: &mut S,
    ) {
        let (Some(sequence), Some(reorder)) = (datagram.sequence, &mut self.reorder) else {
            self.tally.datagram_drops.copies += 1;
            return;
        };
        self.accepted.sequenced += 1;
        let slot = usize::from(datagram.slot);
        if let Some(observer) = reorder.observer_mut() {
            let (bytes, marked) = (datagram.inner.len() as u32, datagram.marked);
            observer.note(at, slot, sequence, bytes, marked);
        }
        let sink = &mut ToDevice { device: self.device, sink };
        reorder.buffer_mut().receive_copy(at.now(), slot, sequence, sink);
    }
}
