//! The paths over which bulk is sent, chosen with every report by [`Reach`](super::reach::Reach).

use super::path::{Kind, Sender};
use super::set::{Set, Sets, Slots};
use super::{ALIKE, Adaptive};

impl Adaptive {
    /// Takes the number of packets of the peer's bulk that have come in all, modulo 2^32.
    pub(crate) fn hear(&mut self, packets: u32) {
        self.reach.hear(packets);
    }

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
        let later = |path: &Sender| {
            let longer = path.delay - first.delay;
            let is_held = path.model.varies() || longer > ALIKE;
            longer + if is_held { path.margin() } else { 0.0 }
        };
        first.usual_round_trip() + used.map(later).fold(0.0, f64::max)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::adaptive::Surveyed;
    use crate::adaptive::path::Role;
    use crate::path::model::{Present, Report};
    use crate::scheduler::Member;
    use crate::sequence::Sequence;

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

    /// The law of the queue takes its times from this one, and dropped packets in slow start where it was too short.
    #[test]
    fn a_flow_over_a_path_that_wanders_is_held_for_that() {
        let mut adaptive = paths(&[(40, 0), (40, 0)]);
        let rtts = |adaptive: &Adaptive| [adaptive.bulk_rtt(), adaptive.set_of(&[0, 1]).rtt];
        let still = rtts(&adaptive);
        let path = adaptive.paths[1].as_mut().expect("set");
        // Probes vary, and neighbouring packets do not.
        path.model.set_jitter(8_000.0);
        for packets in 1..=200 {
            let now = 1_000 * i64::from(packets);
            path.model.record_delay(Sequence(packets), now, 20_000);
            let (bytes, sent_packets) = (1_000 * u64::from(packets), packets);
            let (sent_bytes, backlogged) = (bytes, false);
            let report =
                Report { at: now, bytes, sent_at: now, sent_bytes, settled: None, marked: 0 };
            let present = Present { now, sent_bytes, sent_packets, backlogged };
            path.model.handle_report(&report, &present);
        }
        assert_eq!((path.model.sigma(), path.model.wander()), (0.0, 8_000.0));
        // From the least to the mean of the delays it is 2.5 deviations, and as many as three more are none of our queue.
        let held = rtts(&adaptive);
        assert!((0..2).all(|it| held[it] > still[it] + 5.0 * 8_000.0), "{still:?} {held:?}");
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
