//! Which path carries the next packet.

use super::{Adaptive, SILENCE};

impl Adaptive {
    /// The path for a packet that leaves now: the shortest with credit. A sparse packet takes the
    /// shortest path whatever its credit: what it takes is missing to the bulk behind it.
    #[inline]
    pub(super) fn choose(&mut self, now: i64, ipv6: bool, sparse: bool) -> Option<u16> {
        let blind = self.unreported.is_some_and(|since| now - since > SILENCE);
        let waiting = self.queue.len_bytes() as f64;
        let mut considered = Considered::default();
        while let Some(slot) = considered.next(self, ipv6) {
            let Some(Some(path)) = self.paths.get_mut(usize::from(slot)) else { continue };
            if !sparse && !blind && !considered.is_worth_it(path, waiting) {
                continue;
            }
            let unlimited = blind && !path.model.has_ceiling();
            if sparse || unlimited || path.pacer.has_credit(now) {
                return Some(slot);
            }
            path.backlogged = true;
        }
        None
    }

    /// Returns the time at which one of the paths that bulk may take has credit.
    pub(super) fn next_credit(&self) -> Option<i64> {
        let waiting = self.queue.len_bytes() as f64;
        let mut considered = Considered::default();
        let mut next = None;
        while let Some(slot) = considered.next(self, false) {
            let Some(Some(path)) = self.paths.get(usize::from(slot)) else { continue };
            if !considered.is_worth_it(path, waiting) {
                continue;
            }
            let at = path.pacer.next();
            next = Some(next.map_or(at, |next: i64| next.min(at)));
        }
        next
    }

    /// Puts the paths of the active tier in order: by their delay, queues only as far as they stand for
    /// more than we can shorten.
    pub(super) fn reorder_paths(&mut self) {
        let active = self.paths.iter().flatten().filter(|path| path.member.up);
        let tier = active.map(|path| path.member.tier).min();
        // Delays by both clocks compare with each other, but not with half a round-trip time: that of a
        // path without data is put beside those with data by what the two kinds differ by on one path.
        let both = |path: &super::Sender| Some((path.model.usual_delay()?, path.usual_rtt / 2.0));
        let offset =
            self.paths.iter().flatten().find_map(both).map_or(0.0, |(base, half)| base - half);
        let mut keyed: smallvec::SmallVec<[(f64, f64, u16, f64); 8]> = smallvec::SmallVec::new();
        for (slot, path) in self.paths.iter().enumerate() {
            let Some(path) = path else { continue };
            if !path.member.up || Some(path.member.tier) != tier {
                continue;
            }
            let model = &path.model;
            let base = model.usual_delay().unwrap_or(path.usual_rtt / 2.0 + offset);
            let queue = if model.queue() > model.threshold() { model.queue() } else { 0.0 };
            let foreign = if model.is_shared() { model.queue() } else { 0.0 };
            keyed.push((base + queue, base, slot as u16, foreign));
        }
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.order = keyed.iter().map(|&(_, _, slot, _)| slot).collect();
        for (_, base, slot, queue) in keyed {
            if let Some(Some(path)) = self.paths.get_mut(usize::from(slot)) {
                (path.delay, path.foreign_queue) = (base, queue);
            }
        }
        let bulk = |slot: &&u16| {
            let path = self.paths[usize::from(**slot)].as_ref();
            path.is_some_and(|path| path.role.carries_bulk())
        };
        self.bulk = self.order.iter().filter(bulk).count();
        self.set_target();
    }
}

/// The part of the time that a queue of others takes for which bulk waits for shorter paths instead. Half of it: with all of
/// it the others kept more than their share, since a flow that has just begun to use the path has less waiting.
const OTHERS: f64 = 0.5;

/// The paths that the next packet may take, the shortest first: a bulk flow is played out at one delay,
/// whatever the path, so that a longer one costs it nothing.
#[derive(Default)]
struct Considered {
    place: usize,
    /// What those before carry together, in bytes per microsecond.
    rate: f64,
}

impl Considered {
    /// True if bulk takes this path, of which `waiting` bytes wait for all: not if a queue of others on it takes longer
    /// than to wait for the shorter paths. A flow whose window does not fill those would be slower with it than without.
    #[inline]
    fn is_worth_it(&mut self, path: &super::Sender, waiting: f64) -> bool {
        let worth = OTHERS * self.rate * path.foreign_queue <= waiting;
        self.rate += path.model.rate();
        worth
    }

    #[inline]
    fn next(&mut self, adaptive: &Adaptive, ipv6: bool) -> Option<u16> {
        loop {
            let slot = *adaptive.order.get(self.place)?;
            self.place += 1;
            let Some(Some(path)) = adaptive.paths.get(usize::from(slot)) else { continue };
            let takes_part = path.role.carries_bulk() || (adaptive.bulk == 0 && self.place == 1);
            if takes_part && (!ipv6 || path.ipv6) {
                return Some(slot);
            }
        }
    }
}
