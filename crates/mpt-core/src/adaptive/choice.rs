//! The choice of the path that carries the next packet.

use super::Adaptive;
use super::wants::Wants;

impl Adaptive {
    /// Returns the path for a packet that leaves now: the shortest one with credit. A sparse packet
    /// takes the shortest path even without credit, within bounds ([`Pacer::lends`]), and the bulk
    /// behind it has that much less. A packet that is confined to one path takes that one (`confined.rs`).
    ///
    /// [`Pacer::lends`]: super::pacer::Pacer::lends
    #[inline]
    pub(super) fn choose(&mut self, now: i64, wants: Wants) -> Option<u16> {
        let Wants { ipv6, sparse, .. } = wants;
        let silent = self.silence.is_silent(now);
        if let Some(slot) = self.only_slot(wants) {
            let path = self.paths.get_mut(usize::from(slot))?.as_mut()?;
            return path.admits(now, sparse, silent).then_some(slot);
        }
        let waiting = self.queue.len_bytes() as f64;
        let mut considered = Considered::default();
        while let Some(slot) = considered.next(self, ipv6) {
            let Some(Some(path)) = self.paths.get_mut(usize::from(slot)) else { continue };
            if !sparse && !silent && !considered.is_worth_it(path, waiting) {
                continue;
            }
            if path.admits(now, sparse, silent) {
                return Some(slot);
            }
        }
        None
    }

    /// Returns the time at which one of the paths that bulk may take has credit.
    pub(super) fn next_credit(&self) -> Option<i64> {
        let waiting = self.queue.len_bytes() as f64;
        let mut considered = Considered::default();
        let mut next = None;
        while let Some(slot) = considered.next(self, false) {
            let Some(path) = self.path_at(slot) else { continue };
            if !considered.is_worth_it(path, waiting) {
                continue;
            }
            let at = path.pacer.next();
            next = Some(next.map_or(at, |next: i64| next.min(at)));
        }
        next
    }

    /// Sorts the paths of the active tier by their delay. A queue counts only above the threshold
    /// at which the path is given less, since a shorter one is ours and passes.
    pub(super) fn reorder_paths(&mut self) {
        let active = || self.paths.iter().flatten().filter(|path| path.member.up);
        let tier = active().map(|path| path.member.tier).min();
        // A path that is just up has no round-trip time yet, would seem to be the shortest one, and
        // waits for its first probe if the other paths have one.
        let measured =
            |path: &super::Sender| path.usual_rtt > 0.0 || path.model.usual_delay().is_some();
        let probed = active().any(|path| Some(path.member.tier) == tier && measured(path));
        // Delays between the clocks of both ends compare with each other, but not with half of a
        // round-trip time. One path that has both gives the difference of the two kinds, by which a
        // path without data is compared with those that carry some.
        let both = |path: &super::Sender| Some((path.model.usual_delay()?, path.probed_delay()));
        let offset =
            self.paths.iter().flatten().find_map(both).map_or(0.0, |(base, half)| base - half);
        let mut keyed: smallvec::SmallVec<[(f64, f64, u16, f64); 8]> = smallvec::SmallVec::new();
        for (slot, path) in self.paths.iter().enumerate() {
            let Some(path) = path else { continue };
            let takes_part = path.member.up && Some(path.member.tier) == tier;
            if !takes_part || (probed && !measured(path)) {
                continue;
            }
            let model = &path.model;
            let base = model.usual_delay().unwrap_or(path.probed_delay() + offset);
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
        self.differ = self.paths_differ();
        self.update_short();
    }
}

/// The share of the time that a queue of other traffic takes for which bulk waits for shorter paths
/// instead. With all of it the other traffic kept more than its share of the path
/// (`docs/adaptive-evidence.md`, "A rival on one of two links").
const OTHERS: f64 = 0.5;

/// The paths that the next packet may take, the shortest first. A bulk flow is played out at one
/// delay whatever the path, so a longer path costs it nothing.
#[derive(Default)]
struct Considered {
    place: usize,
    /// The summed rate of the paths before, in bytes per microsecond.
    rate: f64,
}

impl Considered {
    /// Returns true if bulk takes this path while `waiting` bytes wait in the queue of the tunnel.
    /// It does not where the queue of other traffic on the path takes longer than waiting for the
    /// shorter paths: a flow whose window does not fill those would be slower with the path than
    /// without it.
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
            let Some(path) = adaptive.path_at(slot) else { continue };
            let takes_part = path.role.carries_bulk() || (adaptive.bulk == 0 && self.place == 1);
            if takes_part && (!ipv6 || path.ipv6) {
                return Some(slot);
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::scheduler::Member;

    fn set_rtt(adaptive: &mut Adaptive, slot: usize, millis: u64) {
        let mut rtt = crate::session::Rtt::new();
        rtt.record(Duration::from_millis(millis));
        adaptive.set_rtt(slot, rtt.known().expect("a sample"));
    }

    #[test]
    fn a_path_that_was_not_measured_yet_waits_beside_one_that_was() {
        let mut adaptive = Adaptive::new(Instant::now());
        for slot in 0..2 {
            let member = Member { weight: 1, tier: 0, up: true, identity: slot as u64 };
            adaptive.set(slot, Some(member), 36);
        }
        assert_eq!(adaptive.order[..], [0, 1], "nothing is known of either");
        set_rtt(&mut adaptive, 1, 20);
        assert_eq!(adaptive.order[..], [1]);
        set_rtt(&mut adaptive, 0, 40);
        assert_eq!(adaptive.order[..], [1, 0]);
    }
}
