//! Copies of packets that no repair brings in time.

use std::time::Instant;

use crate::adaptive::Adaptive;
use crate::adaptive::path::path_in;
use crate::adaptive::repair::ALLOWANCE;

/// The share of lost packets from which on a path is not trusted with a packet that is wanted at
/// once. With less, fewer than one of a hundred round trips is longer.
const LOSES: f64 = 0.005;

impl Adaptive {
    /// Sends a copy of a packet of `bytes` bytes, which is wanted at once and has just left over
    /// `slot`, over a second path, where the first one loses packets. A repair would come a
    /// round-trip time later. Copies are paid for from the budget of the repairs, of which they leave
    /// what the first packets of a flow may need.
    pub(in crate::adaptive) fn copy_urgent(
        &mut self,
        now: Instant,
        slot: u16,
        number: u32,
        bytes: u32,
        mut given: impl FnMut(u16),
    ) {
        let loses = path_in(&mut self.paths, Some(slot)).is_some_and(|path| path.loss() >= LOSES);
        let left = self.repairs.tokens - self.needed_by_repairs(bytes);
        if !loses || left < ALLOWANCE {
            return;
        }
        let (now, waited) = (self.micros(now), self.waited());
        // The packet may be one of IPv6, which nearly every path carries.
        let ways = self.ways(now, now, true);
        let Some(way) = ways.iter().find(|way| way.slot != slot && !way.late) else { return };
        let Some(path) = path_in(&mut self.paths, Some(way.slot)) else { return };
        if !path.pacer.has_credit(now) && !path.pacer.lends(now, path.model.rate()) {
            return;
        }
        path.pacer.lend(now, bytes + path.overhead);
        let size = path.give_copy(now, way.slot, (number, bytes), waited);
        self.repairs.tokens -= f64::from(size);
        given(way.slot);
    }
}
