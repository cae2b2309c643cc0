//! Forward error correction of a connection: what is protected, and what is restored.

use std::cell::RefCell;
use std::time::Instant;

use mpt_wire::control::Symbol;
use mpt_wire::ip;
use smallvec::SmallVec;

use super::{Connection, Tally};
use crate::fec::{Encoder, FecCounters, Ready, Restored, Restorer, Strength};
use crate::reorder::RESTORED;
use crate::tunnel::{AcceptedDatagram, DatagramDrop};
use crate::{ConnectionId, Mapping, PathId};

impl<P: Copy> Connection<P> {
    /// Protects packets, since the peer restores what is lost; or no longer.
    pub(crate) fn set_peer_restores(&mut self, restores: bool) {
        let wanted = restores && self.config.mapping == Mapping::Adaptive && self.config.numbers();
        if wanted {
            self.tally.encoder.get_or_insert_with(|| Box::new(RefCell::new(Encoder::new())));
        } else if let Some(mut encoder) = self.tally.encoder.take() {
            self.tally.corrected = self.tally.corrected + encoder.get_mut().counters();
        }
    }

    /// Returns true if a packet or super-packet from the device that leaves now is protected.
    pub(super) fn protects(&mut self, now: Instant, summary: &ip::Summary, segments: u16) -> bool {
        let Tally { encoder, adaptive, .. } = &mut *self.tally;
        let (Some(encoder), Some(adaptive)) = (encoder, adaptive) else { return false };
        if !self.config.protect.covers(summary) {
            return false;
        }
        let strength = Strength::of(adaptive.loss_for_symbols());
        encoder.get_mut().expect(now, segments.into(), strength)
    }

    /// Returns what protects the packets that are framed.
    pub(crate) fn encoder(&self) -> Option<&RefCell<Encoder>> {
        self.tally.encoder.as_deref()
    }

    /// Returns when a symbol is due.
    pub(crate) fn symbol_due(&self) -> Option<Instant> {
        self.tally.encoder.as_ref()?.borrow().due()
    }

    /// Takes the symbol that is due, and the path for it.
    pub(crate) fn take_symbol(&mut self, now: Instant) -> Option<(PathId, Ready<'_>)> {
        let Tally { encoder, adaptive, .. } = &mut *self.tally;
        let ready = encoder.as_mut()?.get_mut().take(now)?;
        let slot_of = |&path: &PathId| self.slots.iter().position(|&it| it == Some(path));
        let used: SmallVec<[u16; 8]> =
            ready.paths.iter().filter_map(slot_of).map(|slot| slot as u16).collect();
        let slot = adaptive.as_ref()?.way_for_symbol(&used)?;
        Some(((*self.slots.get(usize::from(slot))?)?, ready))
    }

    /// A symbol was sent over a path: so many bytes of a message, and so many around it.
    pub(crate) fn symbol_sent(&mut self, now: Instant, path: PathId, message: u64, around: u64) {
        let slot = self.slot_of(path);
        let Tally { encoder, adaptive, .. } = &mut *self.tally;
        if let Some(encoder) = encoder {
            encoder.get_mut().sent(message);
        }
        if let (Some(adaptive), Some(slot)) = (adaptive, slot) {
            adaptive.charge_symbol(now, slot as u16, (message + around) as u32);
        }
    }

    /// The peer has sent a symbol.
    pub(crate) fn handle_symbol(&mut self, now: Instant, symbol: &Symbol<'_>) {
        if let Some(reorder) = &mut self.reorder {
            reorder.set_restoring(true);
            let restorer = self.tally.restorer.get_or_insert_with(|| Box::new(Restorer::new()));
            restorer.handle(now, symbol);
        }
    }

    /// A packet has come, as it was sent.
    #[cold]
    pub(super) fn note_for_symbols(&mut self, number: u32, inner: &[u8]) {
        if let Some(restorer) = &mut self.tally.restorer {
            restorer.note(number, inner);
        }
    }

    /// The peer is idle: gives back the memory of what has come.
    pub(crate) fn rest_restoring(&mut self) {
        if let Some(reorder) = &mut self.reorder {
            reorder.set_restoring(false);
        }
        if let Some(restorer) = self.tally.restorer.take() {
            self.tally.corrected = self.tally.corrected + restorer.counters();
        }
    }

    /// Returns true while the peer sends symbols.
    #[inline]
    pub(super) fn is_restoring(&self) -> bool {
        self.reorder.as_ref().is_some_and(|reorder| reorder.is_restoring())
    }

    /// Returns true if packets were restored that are to be delivered.
    #[inline]
    pub(crate) fn has_restored(&self) -> bool {
        self.is_restoring() && self.tally.restorer.as_ref().is_some_and(|it| it.has_restored())
    }

    /// Takes the next packet that was restored.
    pub(crate) fn take_restored(&mut self) -> Option<Restored> {
        self.tally.restorer.as_mut()?.take()
    }

    /// Checks a packet that was restored, as one that has come.
    pub(crate) fn accept_restored(
        &mut self,
        id: ConnectionId,
        restored: &mut Restored,
    ) -> Result<AcceptedDatagram, DatagramDrop> {
        let inner = &mut restored.packet[..];
        let summary = ip::Summary::parse(inner).map_err(|_| DatagramDrop::Malformed)?;
        let foreign_error = self.check_source(&summary, inner)?;
        self.clamp_mss(&summary, inner);
        Ok(AcceptedDatagram {
            connection: id,
            slot: RESTORED as u16,
            sequence: Some(restored.number),
            copy: false,
            class: self.class_for_play_out(&summary, inner),
            marked: false,
            foreign_error,
            inner: 0..inner.len(),
        })
    }

    /// Returns what forward error correction has done.
    pub fn corrected(&self) -> FecCounters {
        let Tally { encoder, restorer, corrected, .. } = &*self.tally;
        let sent = encoder.as_ref().map(|it| it.borrow().counters()).unwrap_or_default();
        let received = restorer.as_ref().map(|it| it.counters()).unwrap_or_default();
        *corrected + sent + received
    }
}
