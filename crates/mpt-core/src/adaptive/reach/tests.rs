use super::*;

/// 8 Mbit/s, in bytes per microsecond.
const UNIT: f64 = 1.0;

fn set(slots: &[u16], rtt: f64, rate: f64) -> Set {
    Set { slots: slots.into(), rtt, rate, likely: rate, jitters: false }
}

/// These sets, of which `all` has all paths.
fn sets(all: &Set, fewer: &[Set]) -> Sets {
    Sets { all: all.clone(), fewer: fewer.iter().cloned().collect() }
}

/// Two paths that carry 10 units each: 20 and 100 ms.
fn two_paths() -> [Set; 2] {
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
        let [short, all] = two_paths();
        let present = if self.reach.takes(1) { all.clone() } else { short.clone() };
        let reached = Reached { rate: units * UNIT, waited, full: waited > 0.0 };
        self.reach.decide(self.now, reached, &present, &sets(&all, &[short]));
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
    flow.reaches(0.001, 0.0);
    let [short, all] = two_paths();
    flow.reach.begin(flow.now, &sets(&all, &[short]));
    assert!(flow.reach.takes(1));
}

#[test]
fn a_path_that_is_added_is_used_only_if_the_window_allows() {
    let [short, all] = two_paths();
    for (waited, both) in [(0.0, false), (900_000.0, true)] {
        let mut flow = Flow::default();
        assert_eq!(flow.reach.offer(&[0]), None);
        // Nobody knows that in slow start.
        let grows = Reached { rate: 5.0, waited, full: true };
        flow.reach.decide(0, grows, &short, &sets(&short, &[]));
        assert_eq!(flow.reach.offer(&[0, 1]), None);
        assert_eq!(flow.reach.offer(&[0]), None);
        let steady = Reached { rate: 6.0, ..grows };
        flow.reach.decide(LEAST_PERIOD, steady, &short, &sets(&short, &[]));
        let (former, reached) = flow.reach.offer(&[0, 1]).unwrap();
        assert_eq!((&former[..], reached), (&[0][..], steady));
        flow.reach.admit(LEAST_PERIOD, reached, short.clone(), &all);
        assert_eq!(flow.reach.takes(1), both, "{waited} bytes wait");
    }
}

/// The shorter of two paths has stood still, and what was on its way there was missing in the window.
#[test]
fn a_path_that_makes_the_round_trip_no_longer_is_used_whatever_the_window() {
    let [_, all] = two_paths();
    let mut flow = Flow::default();
    let reached = Reached { rate: 5.0, waited: 0.0, full: false };
    let former = set(&[1], all.rtt, 10.0 * UNIT);
    flow.reach.admit(LEAST_PERIOD, reached, former, &all);
    assert!(flow.reach.takes(0) && flow.reach.takes(1));
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
    reach.note(1_400, false);
    assert_eq!(reach.measure(0, 0.0, 0), None);
    (0..1_000).for_each(|_| reach.note(1_400, false));
    let reached = reach.measure(LEAST_PERIOD, 0.0, 0);
    assert_eq!(reached, Some(Reached { rate: 2.8, waited: 0.0, full: false }));
}

/// The other end does not hold it, and flows begin beside it.
#[test]
fn a_call_is_no_bulk() {
    let rate = |bytes: u32| {
        let mut reach = Reach::default();
        assert_eq!(reach.measure(0, 0.0, 0), None);
        (0..1_000).for_each(|_| reach.note(bytes, true));
        reach.measure(LEAST_PERIOD, 0.0, 0).map(|reached| reached.rate)
    };
    // 4 Mbit/s, and a fifth more.
    assert_eq!([rate(250), rate(300)], [Some(0.0), Some(0.6)]);
}

/// Three paths of 20, 60 and 600 ms.
#[test]
fn a_flow_that_outgrows_some_paths_gets_the_next_set() {
    let all = set(&[0, 1, 2], 600_000.0, 30.0 * UNIT);
    let fewer = [set(&[0], 20_000.0, 10.0 * UNIT), set(&[0, 1], 60_000.0, 20.0 * UNIT)];
    let (sets, mut reach) = (sets(&all, &fewer), Reach::default());
    let small = Reached { rate: 0.25 * UNIT, waited: 0.0, full: false };
    (0..2).for_each(|_| reach.decide(0, small, &all, &sets));
    assert!(reach.takes(0) && !reach.takes(1), "its window fills one path");
    let full = |waited| Reached { rate: 10.0 * UNIT, waited, full: true };
    reach.decide(SETTLES, full(200_000.0), &fewer[0], &sets);
    assert!(!reach.takes(1), "its window fills no more than one");
    reach.decide(SETTLES + LEAST_PERIOD, full(600_000.0), &fewer[0], &sets);
    assert!(reach.takes(1) && !reach.takes(2), "the third path would take longer than it brings");
}

#[test]
fn a_flow_begins_over_the_paths_that_it_fills_soon() {
    let short = set(&[0], 20_000.0, 10.0 * UNIT);
    let begins_with_all = |rtt, jitters| {
        let all = Set { jitters, ..set(&[0, 1], rtt, 20.0 * UNIT) };
        let mut reach = Reach::default();
        reach.begin(0, &sets(&all, std::slice::from_ref(&short)));
        reach.takes(1)
    };
    assert!(begins_with_all(30_000.0, false) && !begins_with_all(900_000.0, false));
    // Slow start ends too early where delays jitter.
    assert!(begins_with_all(500_000.0, false) && !begins_with_all(500_000.0, true));
}

/// The hold of acknowledgements follows the choice, and a flow in slow start notices.
#[test]
fn a_flow_that_has_begun_in_either_direction_keeps_its_paths() {
    let [short, _] = two_paths();
    let far = sets(&set(&[0, 1], 800_000.0, 20.0 * UNIT), &[short]);
    for bulk in [true, false] {
        let mut reach = Reach::default();
        assert_eq!(reach.measure(0, 0.0, 0), None);
        match bulk {
            true => (0..=10).for_each(|_| reach.note(1_500, false)),
            false => reach.hear(HEARD),
        }
        reach.begin(0, &far);
        assert!(reach.takes(1), "bulk: {bulk}");
    }
}

#[test]
fn a_flow_in_the_other_direction_keeps_its_paths_from_one_period_to_the_next() {
    let [short, _] = two_paths();
    let far = sets(&set(&[0, 1], 800_000.0, 20.0 * UNIT), &[short]);
    let mut reach = Reach::default();
    assert_eq!(reach.measure(0, 0.0, 0), None);
    reach.hear(HEARD);
    assert!(reach.measure(LEAST_PERIOD, 0.0, 0).is_some());
    reach.begin(LEAST_PERIOD, &far);
    assert!(reach.takes(1), "the next period has just begun");
    assert!(reach.measure(2 * LEAST_PERIOD, 0.0, 0).is_some());
    reach.begin(2 * LEAST_PERIOD, &far);
    assert!(!reach.takes(1), "the flow has ended");
}
