//! The paths over which bulk is sent, chosen with every report by [`Reach`](super::reach::Reach).

use smallvec::SmallVec;

use super::Adaptive;
use super::path::Kind;
use super::reach::{Set, Slots};

impl Adaptive {
    /// Notes a report. `slots` are the paths that may carry bulk, the shortest first.
    pub(super) fn update_reach(&mut self, now: i64, slots: &[u16]) {
        if let Some((former, reached)) = self.reach.offer(slots) {
            let (former, all) = (self.set_of(&former), self.set_of(slots));
            self.reach.admit(now, reached, former, &all);
        }
        let rtt = self.bulk_rtt() + self.repair_wait();
        let waiting = self.queue.len_bytes();
        let Some(reached) = self.reach.measure(now, rtt, waiting) else { return };
        let present: Slots = slots.iter().copied().filter(|&it| self.reach.takes(it)).collect();
        let shortest = (1..slots.len()).map(|count| &slots[..count]);
        let alone = slots.iter().skip(1).map(std::slice::from_ref);
        let fewer: SmallVec<[Set; 8]> = shortest.chain(alone).map(|it| self.set_of(it)).collect();
        let (present, all) = (self.set_of(&present), self.set_of(slots));
        self.reach.decide(now, reached, &present, &all, &fewer);
    }

    /// Returns these paths with the round-trip time of bulk over them and the rate that they may carry.
    fn set_of(&self, slots: &[u16]) -> Set {
        let paths = || slots.iter().filter_map(|&slot| self.paths[usize::from(slot)].as_ref());
        let repairs = paths().any(|path| path.kind == Kind::Lossy);
        let wait = if repairs { self.repair_wait() } else { 0.0 };
        let rate = paths().map(|path| path.model.expected_rate()).sum();
        let rtt = (self.bulk_rtt_over(paths) + wait).max(1.0);
        Set { slots: slots.into(), rtt, rate }
    }
}
