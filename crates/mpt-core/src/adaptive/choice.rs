//! Which path carries the next packet.

use super::{Adaptive, SILENCE};

impl Adaptive {
    /// The path for a packet that leaves now: the shortest with credit. A sparse packet takes the
    /// shortest path whatever its credit: what it takes is missing to the bulk behind it.
    #[inline]
    pub(super) fn choose(&mut self, now: i64, ipv6: bool, sparse: bool) -> Option<u16> {
        let blind = self.unreported.is_some_and(|since| now - since > SILENCE);
        for &slot in &self.order {
            let Some(Some(path)) = self.paths.get_mut(usize::from(slot)) else { continue };
            if ipv6 && !path.ipv6 {
                continue;
            }
            if sparse || blind || path.pacer.has_credit(now) {
                return Some(slot);
            }
            path.backlogged = true;
        }
        None
    }

    /// Puts the paths of the active tier in order: by their delay, queues only as far as they stand for
    /// more than we can shorten.
    pub(super) fn reorder_paths(&mut self) {
        let active = self.paths.iter().flatten().filter(|path| path.member.up);
        let tier = active.map(|path| path.member.tier).min();
        // Delays by both clocks compare with each other, but not with half a round-trip time: that of a
        // path without data is put beside those with data by what the two kinds differ by on one path.
        let both = |path: &super::Sender| Some((path.model.base()?, path.model.rtt() / 2.0));
        let offset =
            self.paths.iter().flatten().find_map(both).map_or(0.0, |(base, half)| base - half);
        let mut keyed: smallvec::SmallVec<[(f64, u16); 8]> = smallvec::SmallVec::new();
        for (slot, path) in self.paths.iter().enumerate() {
            let Some(path) = path else { continue };
            if !path.member.up || Some(path.member.tier) != tier {
                continue;
            }
            let model = &path.model;
            let base = model.base().unwrap_or(model.rtt() / 2.0 + offset);
            let queue = if model.queue() > model.threshold() { model.queue() } else { 0.0 };
            keyed.push((base + queue, slot as u16));
        }
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.order = keyed.into_iter().map(|(_, slot)| slot).collect();
        self.set_target();
    }
}
