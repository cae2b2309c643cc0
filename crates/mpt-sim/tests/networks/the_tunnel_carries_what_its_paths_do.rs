//! One TCP flow through the tunnel in virtual time: what the paths could carry, and what a window too small or a wait
//! too short leaves of it.

use std::time::Duration;

use mpt_core::advise;
use mpt_link::Probability;
use mpt_sim::study::{State, in_parallel};
use mpt_sim::tunnel::{Case, Outcome, Path, Profile};

const MILLISECOND: Duration = Duration::from_millis(1);
const PROFILES: [Profile; 2] = [Profile::Paper, Profile::Ours];

/// 50 + 25 Mbit/s, the second path longer by `difference`; 6 s.
fn case(profile: Profile, difference: Duration) -> Case {
    let paths = vec![Path::new(50, Duration::ZERO), Path::new(25, difference)];
    Case { duration: Duration::from_secs(6), ..Case::new(profile, paths, 1) }
}

fn with_window(profile: Profile, difference: Duration, window: u16) -> Case {
    let mut case = case(profile, difference);
    case.reorder.window = Some(window);
    case
}

fn run(cases: &[Case]) -> Vec<Outcome> {
    in_parallel(cases, Case::run, || {})
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let jittery = |seed| {
        let mut case = case(Profile::Ours, 20 * MILLISECOND);
        case.paths[1].jitter = 2 * MILLISECOND;
        case.duration = Duration::from_secs(1);
        Case { seed, ..case }
    };
    let outcomes = run(&[jittery(7), jittery(7), jittery(8)]);
    assert_eq!(outcomes[0], outcomes[1]);
    assert_ne!(outcomes[0].trace, outcomes[2].trace);
}

#[test]
fn our_defaults_carry_all_of_it_within_seconds() {
    let cases = [0, 20, 40].map(|difference| case(Profile::Ours, difference * MILLISECOND));
    for (case, outcome) in cases.iter().zip(run(&cases)) {
        let share = outcome.settled / outcome.capacity;
        assert!(share > 0.97, "{:?}: {outcome:?}", case.paths);
    }
}

/// Bytes delivered by the end of each second.
fn by_second(case: &Case) -> Vec<u64> {
    let mut delivered = vec![];
    case.run_with(|now, bytes| {
        let second = now.as_secs_f64() as usize;
        delivered.resize(second.max(delivered.len()), bytes);
    });
    delivered
}

/// The papers' settings have a transient, which takes seconds more with a large difference, as in tables 2 and 3 of imareen2025.
#[test]
fn the_papers_settings_have_a_transient() {
    let [none, large] = [0, 50].map(|difference| {
        let paths = [0, difference].map(|delay| Path::new(100, delay * MILLISECOND));
        let mut case = Case::new(Profile::Paper, paths.to_vec(), 1);
        case.duration = Duration::from_secs(20);
        let delivered = by_second(&case);
        let rates = delivered.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 8.0 / 1e6);
        rates.take_while(|&rate| rate < 0.9 * 186.5).count()
    });
    assert!(large >= none + 2, "{none} s, {large} s");
}

#[test]
fn packets_wait_for_the_difference_of_the_delays() {
    let outcome = case(Profile::Ours, 40 * MILLISECOND).run();
    // The session measures it by small frames, which spend less time on the link than data, and beside queues.
    assert!((outcome.wait_p99_ms - 40.0).abs() < 2.0, "{outcome:?}");
    // 2 of 3 packets come by the shorter path, 40 ms early: 40 ms of 50 Mbit/s.
    let expected = 0.04 * 50e6 / (8.0 * 1514.0);
    assert!((outcome.occupancy.p99 as f64 / expected - 1.0).abs() < 0.05, "{outcome:?}");
}

#[test]
fn a_window_too_small_leaves_what_the_model_says() {
    let mut cases =
        [25, 50, 100, 200, 400].map(|window| with_window(Profile::Paper, 40 * MILLISECOND, window));
    for case in &mut cases {
        (case.duration, case.settled_from) = (Duration::from_secs(20), Duration::from_secs(12));
    }
    let paths: Vec<advise::Path> = cases[0].paths.iter().map(Path::known).collect();
    for (case, outcome) in cases.iter().zip(run(&cases)) {
        let model = advise::throughput(&paths, case.reorder.window()) / 1e6;
        let error = (model - outcome.settled).abs() / outcome.capacity;
        assert!(error < 0.1, "window {}: {model}, {outcome:?}", case.reorder.window());
    }
}

#[test]
fn the_advice_is_enough_and_half_of_it_is_not() {
    let mut case = case(Profile::Paper, 40 * MILLISECOND);
    (case.duration, case.settled_from) = (Duration::from_secs(20), Duration::from_secs(12));
    let paths: Vec<advise::Path> = case.paths.iter().map(Path::known).collect();
    let advice = advise::advise(&paths).unwrap();
    let with = |window, max_delay| {
        let mut case = case.clone();
        (case.reorder.window, case.reorder.max_delay) = (Some(window), Some(max_delay));
        case
    };
    let cases = [
        with(advice.window, advice.max_delay),
        with(advice.window / 2, advice.max_delay),
        with(advice.window, advice.max_delay / 2),
    ];
    let shares: Vec<f64> = run(&cases).iter().map(|it| it.settled / it.capacity).collect();
    assert!(shares[0] > 0.95 && shares[1] < 0.6 && shares[2] < 0.2, "{shares:?}");
}

#[test]
fn a_wait_shorter_than_the_difference_makes_half_of_the_packets_late() {
    for profile in PROFILES {
        let mut case = case(profile, 40 * MILLISECOND);
        case.session = false;
        case.reorder.max_delay = Some(10 * MILLISECOND);
        let outcome = case.run();
        assert!(outcome.late > outcome.packets / 5, "{outcome:?}");
        assert!(outcome.settled < 0.2 * outcome.capacity, "{outcome:?}");
        let dropped = if profile == Profile::Paper { outcome.late } else { 0 };
        assert_eq!(outcome.late_dropped, dropped);
    }
}

#[test]
fn a_loss_costs_the_papers_settings_the_maximum_delay() {
    let cases = PROFILES.map(|profile| {
        let mut case = case(profile, Duration::ZERO);
        case.paths.iter_mut().for_each(|path| path.loss = Probability::new(0.001).unwrap().into());
        case
    });
    let [paper, ours] = <[Outcome; 2]>::try_from(run(&cases)).unwrap();
    assert!(paper.wait_p99_ms > 250.0 && ours.wait_p99_ms < 10.0, "{paper:?} {ours:?}");
    assert!(ours.settled > 2.0 * paper.settled, "{paper:?} {ours:?}");
}

#[test]
fn paths_that_carry_nothing_end_with_a_clear_state() {
    let mut case = case(Profile::Ours, Duration::ZERO);
    case.paths.iter_mut().for_each(|path| path.loss = Probability::ONE.into());
    let outcome = case.run();
    assert_eq!((outcome.state, outcome.goodput), (State::NoProgress, 0.0));
}
