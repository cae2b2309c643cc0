//! The paths over which bulk is sent, chosen with every report by [`Reach`](super::reach::Reach).

use super::path::{Kind, Sender};
use super::set::{Set, Sets, Slots};
use super::{ALIKE, Adaptive};

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

    /// Returns the set of these paths, the shortest first; and as smaller ones the shortest of them,
    /// each path alone, and all paths but one.
    pub(super) fn sets(&self, slots: &[u16]) -> Sets {
        let shortest = (1..slots.len()).map(|count| &slots[..count]);
        let alone = slots.iter().skip(1).map(std::slice::from_ref);
        // Of two paths each is alone, and without the last one the shortest ones are left.
        let left_out = slots.split_last().filter(|_| slots.len() > 2);
        let all_but_one = left_out.into_iter().flat_map(|(_, others)| others).map(|left_out| {
            let others: Slots = slots.iter().copied().filter(|slot| slot != left_out).collect();
            self.set_of(&others)
        });
        let fewer = shortest.chain(alone).map(|it| self.set_of(it));
        let fewer = fewer.chain(all_but_one).collect();
        Sets { all: self.set_of(slots), fewer }
    }

    /// Returns these paths as a set.
    pub(super) fn set_of(&self, slots: &[u16]) -> Set {
        let paths = || slots.iter().filter_map(|&slot| self.paths[usize::from(slot)].as_ref());
        let wait = match paths().any(|path| path.kind != Kind::Clean) {
            true => self.repair_wait_over(paths()),
            false => 0.0,
        };
        Set {
            slots: slots.into(),
            rtt: (self.flow_rtt_over(paths()) + wait).max(1.0),
            rate: paths().map(|path| path.model.expected_rate()).sum(),
            likely: paths().map(|path| path.model.likely_rate()).sum(),
            jitters: paths().any(|path| path.model.sigma() > 0.0),
        }
    }

    /// Returns the round-trip time of a flow over these paths whose acknowledgements come over the
    /// shortest of all.
    fn flow_rtt_over<'a>(&self, used: impl Iterator<Item = &'a Sender>) -> f64 {
        let first = self.order.first().and_then(|&slot| self.paths[usize::from(slot)].as_ref());
        let Some(first) = first else { return 0.0 };
        // The least round-trip time of a path that wanders is far below the usual one.
        let back = first.usual_rtt.max(first.model.rtt());
        let later = |path: &Sender| {
            let longer = path.delay - first.delay;
            let is_held = path.model.sigma() > 0.0 || longer > ALIKE;
            longer + if is_held { path.margin() } else { 0.0 }
        };
        back + used.map(later).fold(0.0, f64::max)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::adaptive::Surveyed;
    use crate::adaptive::path::Role;
    use crate::scheduler::Member;

    /// Paths of these round-trip times, each surveyed with so many of 400 probes lost.
    fn paths(all: &[(u64, u16)]) -> Adaptive {
        let now = Instant::now();
        let mut adaptive = Adaptive::new(now);
        adaptive.set_repair(true);
        for (slot, &(millis, _)) in all.iter().enumerate() {
            let member = Member { weight: 1, tier: 0, up: true, identity: slot as u64 };
            adaptive.set(slot, Some(member), 36);
            let mut rtt = crate::session::Rtt::new();
            (0..50).for_each(|_| rtt.record(Duration::from_millis(millis)));
            adaptive.set_rtt(slot, rtt.known().expect("samples"));
        }
        adaptive.repairs.heard = true;
        for (slot, &(_, lost)) in all.iter().enumerate() {
            survey(&mut adaptive, slot, lost);
        }
        adaptive
    }

    fn survey(adaptive: &mut Adaptive, slot: usize, lost: u16) {
        let surveyed = Surveyed { probes: 400, lost, variation: 0.0, capacity: None };
        adaptive.set_surveyed(adaptive.origin, slot, &surveyed);
    }

    #[test]
    fn acknowledgements_come_back_over_the_shortest_path() {
        let adaptive = paths(&[(40, 0), (640, 0)]);
        let millis = |slots: &[u16]| adaptive.set_of(slots).rtt / 1_000.0;
        assert!((40.0..60.0).contains(&millis(&[0])), "{}", millis(&[0]));
        assert!((340.0..450.0).contains(&millis(&[0, 1])), "{}", millis(&[0, 1]));
    }

    /// Data and their acknowledgements take 70 ms, and more than ten times as long with the path that loses packets.
    #[test]
    fn a_flow_that_begins_without_a_path_that_loses_packets_waits_for_no_repairs() {
        let mut adaptive = paths(&[(70, 0), (1_600, 20)]);
        assert_eq!(adaptive.bulk, 1, "one path carries bulk");
        // A flow before had both.
        (adaptive.repairs.loss_at, adaptive.repairs.possible_at) = (Some(0), 0);
        adaptive.update_keeping(1);
        assert_eq!(adaptive.repair_wait(), 0.0);
        assert!(adaptive.set_of(&[0, 1]).rtt > adaptive.set_of(&[0]).rtt + 500_000.0);
    }

    /// The hold would change in its slow start otherwise, as soon as the second path carries bulk.
    #[test]
    fn a_flow_waits_for_repairs_from_its_beginning_while_a_path_is_not_surveyed() {
        let mut adaptive = paths(&[(40, 0), (60, 0)]);
        assert_eq!(adaptive.repair_wait(), 0.0);
        let second = adaptive.paths[1].as_mut().expect("set");
        (second.kind, second.role, second.surveyed) = (Kind::Unknown, Role::Trial, None);
        survey(&mut adaptive, 0, 0);
        assert!(adaptive.repair_wait() > 0.0);
        assert!(adaptive.kept_from().is_some_and(|(_, lost)| lost > 0));
    }
}
