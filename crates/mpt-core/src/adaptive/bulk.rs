//! The paths over which bulk is sent, chosen with every report by [`Reach`](super::reach::Reach).

use super::Adaptive;
use super::set::Slots;

impl Adaptive {
    /// Notes a report. `slots` are the paths that may carry bulk, the shortest first.
    pub(super) fn update_reach(&mut self, now: i64, slots: &[u16]) {
        if let Some((former, reached)) = self.reach.offer(slots) {
            let (former, all) = (self.set_of(&former), self.set_of(slots));
            self.reach.admit(now, reached, former, &all);
        }
        if self.reach.rests() {
            self.reach.begin(now, &self.sets(slots));
        }
        let rtt = self.bulk_rtt() + self.repair_wait();
        let Some(reached) = self.reach.measure(now, rtt, self.queue.len_bytes()) else { return };
        let present: Slots = slots.iter().copied().filter(|&it| self.reach.takes(it)).collect();
        self.reach.decide(now, reached, &self.set_of(&present), &self.sets(slots));
    }
}
