//! The choice between all paths and fewer of them by what a flow reaches.
//!
//! Bulk has the round-trip time of the longest path that carries it. A flow sends one window in each
//! round-trip time, so a flow whose window does not fill the paths is slower for each path that
//! makes the round-trip time longer. While that is so, the longer paths carry no bulk.

use smallvec::SmallVec;

/// The shortest period over which rates are measured, in microseconds.
const LEAST_PERIOD: i64 = 500_000;
/// The length of a period in round-trip times.
const PERIOD_RTTS: f64 = 3.0;
/// A flow that grows by more than this factor from one period to the next is in slow start.
const GROWS: f64 = 1.25;
/// The factor by which the shorter paths alone have to promise more.
const PROMISED: f64 = 1.3;
/// The factor by which they have to reach more once nothing of the longer ones is held any more.
const KEPT: f64 = 1.1;
/// The factor by which all paths have to promise more to a flow that fills the shorter ones.
const RETURNS: f64 = 1.05;
/// The share of reports at which packets wait from which on the paths are full.
const FULL: f64 = 0.5;
/// The time that the receiver and the flow have to adapt to another round-trip time, in microseconds.
const SETTLES: i64 = 2_500_000;
/// The time after which packets that wait show that the shorter paths are full, in microseconds.
const FILLED: i64 = 1_000_000;
/// The time that a flow has to fill the paths after the longer ones carry bulk again, in
/// microseconds; [`FILLS_RTTS`] where that is more.
const FILLS: i64 = 3_000_000;
/// The round-trip times that a flow has to fill the paths after the longer ones carry bulk again.
const FILLS_RTTS: f64 = 10.0;
/// The time for which shorter paths that are full carry bulk alone, and the time between a try that
/// was in vain and the next one, in microseconds. It doubles each time, up to [`LONGEST_PAUSE`].
const PAUSE: i64 = 30_000_000;
/// The longest time that [`PAUSE`] grows to, in microseconds.
const LONGEST_PAUSE: i64 = 480_000_000;
/// The rate below which nothing is sent in bulk, in bytes per microsecond.
const NO_BULK: f64 = 0.02;

/// The packets of the present period.
#[derive(Clone, Copy, Debug)]
struct Period {
    began: i64,
    /// The length, in microseconds.
    length: i64,
    /// The bytes sent before.
    bytes: u64,
    reports: u32,
    /// Reports at which packets waited.
    full: u32,
    /// The sum of the bytes that waited at the reports.
    waited: f64,
}

/// The result of a whole period: in bytes per microsecond, and bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reached {
    rate: f64,
    /// The mean of the bytes that waited.
    waited: f64,
    /// True if packets waited most of the time.
    full: bool,
}

impl Reached {
    /// Returns the bytes that the flows have sent and not seen acknowledged, where `rtt` is the
    /// round-trip time of bulk.
    fn window(&self, rtt: f64) -> f64 {
        self.rate * rtt + self.waited
    }
}

/// The slots of paths that carry bulk together, the shortest first.
pub(super) type Slots = SmallVec<[u16; 4]>;

/// Some of the paths of a connection: the round-trip time of bulk over them in microseconds, and
/// what they may carry in bytes per microsecond.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set {
    pub(super) slots: Slots,
    pub(super) rtt: f64,
    pub(super) rate: f64,
}

/// The paths that carry bulk.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// All paths carry bulk.
    All,
    /// Only these carry bulk, since `since`. More of them reached `reached`, if that was tried.
    Fewer { slots: Slots, since: i64, reached: Option<f64> },
}

/// The decision about one connection.
#[derive(Debug)]
pub(super) struct Reach {
    /// The bytes of bulk that were sent in all.
    sent: u64,
    stage: Stage,
    period: Option<Period>,
    /// The rate of the period before, if the same paths carried bulk in it.
    before: Option<f64>,
    /// The result of the period before, if the flow was not in slow start.
    steady: Option<Reached>,
    /// The paths that might carry bulk at the last report.
    offered: Slots,
    /// The time before which no path is left out.
    not_before: i64,
    pause: i64,
    /// The rate at which these paths were full.
    known: Option<(Slots, f64)>,
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            sent: 0,
            stage: Stage::All,
            period: None,
            before: None,
            steady: None,
            offered: Slots::new(),
            not_before: 0,
            pause: PAUSE,
            known: None,
        }
    }
}

impl Reach {
    /// Returns true if a path may carry bulk.
    pub(super) fn takes(&self, slot: u16) -> bool {
        match &self.stage {
            Stage::All => true,
            Stage::Fewer { slots, .. } => slots.contains(&slot),
        }
    }

    /// Notes that a packet of a bulk flow, of `bytes` bytes, is sent.
    #[inline]
    pub(super) fn note(&mut self, bytes: u32) {
        self.sent += u64::from(bytes);
    }

    /// Notes the paths that may carry bulk. Where some of them could not before, and a flow that is
    /// not in slow start has all of the others, returns these and what the flow reached.
    pub(super) fn offer(&mut self, slots: &[u16]) -> Option<(Slots, Reached)> {
        let offered = std::mem::replace(&mut self.offered, slots.into());
        if let Stage::Fewer { slots: fewer, .. } = &self.stage {
            if !fewer.iter().all(|slot| slots.contains(slot)) {
                // One of the paths that carry bulk is down, or loses too much.
                self.enter(Stage::All);
            }
            return None;
        }
        let is_new = |slot: &u16| !offered.contains(slot);
        let reached = self.steady.filter(|_| slots.iter().any(is_new))?;
        let former: Slots = slots.iter().copied().filter(|slot| !is_new(slot)).collect();
        (!former.is_empty()).then_some((former, reached))
    }

    /// Lets further paths carry bulk in addition to the `former` ones, unless they cost a flow more
    /// than they bring: its window is as large as the round-trip time over the former ones asked for.
    pub(super) fn admit(&mut self, now: i64, reached: Reached, former: Set, all: &Set) {
        if reached.window(former.rtt) / all.rtt < RETURNS * reached.rate {
            self.enter(Stage::Fewer { slots: former.slots, since: now, reached: None });
        }
    }

    /// Lets other paths carry bulk. Rates of the ones before do not compare with theirs.
    fn enter(&mut self, stage: Stage) {
        (self.stage, self.before) = (stage, None);
    }

    /// Notes a report, while `waiting` bytes wait. `rtt` is the round-trip time of bulk in
    /// microseconds. Returns what was reached where a period ends.
    pub(super) fn measure(&mut self, now: i64, rtt: f64, waiting: usize) -> Option<Reached> {
        let next = Period {
            began: now,
            length: LEAST_PERIOD.max((PERIOD_RTTS * rtt) as i64),
            bytes: self.sent,
            reports: 0,
            full: 0,
            waited: 0.0,
        };
        let period = self.period.get_or_insert(next);
        period.reports += 1;
        period.full += u32::from(waiting > 0);
        period.waited += waiting as f64;
        let passed = now - period.began;
        if passed < period.length {
            return None;
        }
        let Period { bytes, reports, full, waited, .. } = std::mem::replace(period, next);
        let reports = f64::from(reports);
        Some(Reached {
            rate: (next.bytes - bytes) as f64 / passed as f64,
            waited: waited / reports,
            full: f64::from(full) >= FULL * reports,
        })
    }

    /// Decides by what was reached in a period. `present` are the paths that carry bulk, `all` those
    /// that may, and `fewer` are smaller sets of these.
    pub(super) fn decide(
        &mut self,
        now: i64,
        reached: Reached,
        present: &Set,
        all: &Set,
        fewer: &[Set],
    ) {
        if reached.rate < NO_BULK {
            *self = Self { sent: self.sent, ..Self::default() };
            return;
        }
        let grows = self.before.is_none_or(|before| reached.rate > GROWS * before);
        self.steady = (!grows).then_some(reached);
        self.before = Some(reached.rate);
        let window = reached.window(present.rtt);
        if let Stage::Fewer { slots, since, reached: before } = &self.stage {
            let passed = now - since;
            if passed < SETTLES && !(reached.full && passed > FILLED) {
                return;
            }
            let outgrown = reached.full && window / all.rtt > RETURNS * reached.rate;
            let over = reached.full && passed > self.pause;
            let in_vain = before.is_some_and(|before| reached.rate < KEPT * before);
            if reached.full {
                self.known = Some((slots.clone(), reached.rate));
            }
            if over || in_vain {
                self.not_before = now + self.pause;
                self.pause = LONGEST_PAUSE.min(2 * self.pause);
            }
            if over || in_vain || outgrown {
                let fills = FILLS.max((FILLS_RTTS * all.rtt) as i64);
                self.not_before = self.not_before.max(now + fills);
                self.enter(Stage::All);
                return;
            }
        }
        if grows || reached.full || now < self.not_before {
            return;
        }
        let promise = |set: &Set| {
            let within = |known: &Slots| set.slots.iter().all(|slot| known.contains(slot));
            let known = self.known.as_ref().filter(|(slots, _)| within(slots));
            set.rate.min(known.map_or(f64::INFINITY, |&(_, rate)| rate)).min(window / set.rtt)
        };
        let best = fewer.iter().max_by(|a, b| promise(a).total_cmp(&promise(b)));
        if let Some(best) = best.filter(|best| promise(best) > PROMISED * reached.rate) {
            let slots = best.slots.clone();
            self.enter(Stage::Fewer { slots, since: now, reached: Some(reached.rate) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s, in bytes per microsecond.
    const UNIT: f64 = 1.0;

    /// Two paths that carry 10 units each: 20 and 100 ms.
    fn sets() -> [Set; 2] {
        let set = |slots: &[u16], rtt, rate| Set { slots: slots.into(), rtt, rate };
        [set(&[0], 20_000.0, 10.0 * UNIT), set(&[0, 1], 100_000.0, 20.0 * UNIT)]
    }

    /// A connection over the two paths at a time in microseconds.
    #[derive(Default)]
    struct Flow {
        reach: Reach,
        now: i64,
    }

    impl Flow {
        /// Passes half a second in which so many units are reached, while so many bytes wait.
        /// Returns true if both paths carry bulk.
        fn reaches(&mut self, units: f64, waited: f64) -> bool {
            self.now += LEAST_PERIOD;
            let [short, all] = sets();
            let present = if self.reach.takes(1) { all.clone() } else { short.clone() };
            let reached = Reached { rate: units * UNIT, waited, full: waited > 0.0 };
            self.reach.decide(self.now, reached, &present, &all, &[short]);
            self.reach.takes(1)
        }

        /// Passes so many seconds, and returns those in which both paths carry bulk.
        fn seconds(&mut self, seconds: u32, units: f64, waited: f64) -> u32 {
            let both = (0..2 * seconds).filter(|_| self.reaches(units, waited)).count();
            both as u32 / 2
        }
    }

    #[test]
    fn a_flow_whose_window_fills_neither_path_gets_the_shorter_one() {
        let mut flow = Flow::default();
        assert!(flow.reaches(2.0, 0.0));
        assert!(!flow.reaches(2.2, 0.0), "five times as many round trips");
        assert_eq!(flow.seconds(60, 9.0, 0.0), 0);
    }

    #[test]
    fn a_flow_in_slow_start_keeps_both() {
        let mut flow = Flow::default();
        let mut rate = 0.05;
        while rate < 20.0 {
            assert!(flow.reaches(rate, 0.0), "{rate}");
            rate *= 1.5;
        }
    }

    #[test]
    fn a_flow_that_fills_the_paths_keeps_both() {
        assert_eq!(Flow::default().seconds(60, 19.0, 100_000.0), 60);
        assert_eq!(Flow::default().seconds(60, 12.0, 0.0), 60, "more than the shorter one carries");
        assert_eq!(Flow::default().seconds(60, 6.0, 100_000.0), 60, "something else is full");
    }

    #[test]
    fn a_flow_that_outgrows_the_shorter_path_gets_both() {
        let mut flow = Flow::default();
        flow.seconds(1, 2.0, 0.0);
        assert_eq!(flow.seconds(5, 9.0, 0.0), 0);
        // In 100 ms both carry 1,000,000 bytes of the window, and more than 10 units.
        assert!(!flow.reaches(10.0, 500_000.0));
        assert!(flow.reaches(10.0, 900_000.0));
        // The shorter path is known to carry 10 units, and is not tried again.
        assert_eq!(flow.seconds(60, 8.0, 0.0), 60);
    }

    #[test]
    fn a_try_in_vain_ends_and_is_not_made_again_soon() {
        let mut flow = Flow::default();
        flow.seconds(1, 2.0, 0.0);
        let tried = |flow: &mut Flow| (0..240).take_while(|_| !flow.reaches(2.0, 0.0)).count();
        assert_eq!(tried(&mut flow), 4, "2.5 s");
        for pause in [60, 120, 240] {
            let kept = (0..10_000).take_while(|_| flow.reaches(2.0, 0.0)).count();
            assert_eq!(kept + 1, pause, "half seconds");
            assert_eq!(tried(&mut flow), 4, "2.5 s");
        }
    }

    #[test]
    fn a_path_that_is_full_at_once_was_tried_in_vain() {
        let mut flow = Flow::default();
        flow.seconds(1, 5.0, 0.0);
        assert!(!flow.reaches(4.0, 200_000.0) && !flow.reaches(4.0, 200_000.0));
        assert!(flow.reaches(4.0, 200_000.0), "after 1 s");
    }

    #[test]
    fn both_are_tried_again_after_a_while() {
        let mut flow = Flow::default();
        flow.seconds(1, 2.0, 0.0);
        let alone = (0..1_000).take_while(|_| !flow.reaches(9.5, 100_000.0)).count();
        assert_eq!(alone, 60, "half seconds");
    }

    #[test]
    fn the_next_flow_begins_with_both() {
        let mut flow = Flow::default();
        flow.seconds(1, 2.0, 0.0);
        assert!(!flow.reach.takes(1));
        assert!(flow.reaches(0.001, 0.0));
    }

    #[test]
    fn a_path_that_is_added_is_used_only_if_the_window_allows() {
        let [short, all] = sets();
        for (waited, both) in [(0.0, false), (900_000.0, true)] {
            let mut flow = Flow::default();
            assert_eq!(flow.reach.offer(&[0]), None);
            // Nobody knows that in slow start.
            let grows = Reached { rate: 5.0, waited, full: true };
            flow.reach.decide(0, grows, &short, &short, &[]);
            assert_eq!(flow.reach.offer(&[0, 1]), None);
            assert_eq!(flow.reach.offer(&[0]), None);
            let steady = Reached { rate: 6.0, ..grows };
            flow.reach.decide(LEAST_PERIOD, steady, &short, &short, &[]);
            let (former, reached) = flow.reach.offer(&[0, 1]).unwrap();
            assert_eq!((&former[..], reached), (&[0][..], steady));
            flow.reach.admit(LEAST_PERIOD, reached, short.clone(), &all);
            assert_eq!(flow.reach.takes(1), both, "{waited} bytes wait");
        }
    }

    #[test]
    fn all_paths_are_there_for_one_that_is_not() {
        let mut flow = Flow::default();
        assert_eq!(flow.reach.offer(&[0, 1]), None);
        flow.seconds(1, 2.0, 0.0);
        assert!(!flow.reach.takes(1));
        assert_eq!(flow.reach.offer(&[1]), None);
        assert!(flow.reach.takes(1));
    }

    #[test]
    fn a_period_tells_of_its_own_packets() {
        let mut reach = Reach::default();
        reach.note(1_400);
        assert_eq!(reach.measure(0, 0.0, 0), None);
        (0..1_000).for_each(|_| reach.note(1_400));
        let reached = reach.measure(LEAST_PERIOD, 0.0, 0);
        assert_eq!(reached, Some(Reached { rate: 2.8, waited: 0.0, full: false }));
    }
}
