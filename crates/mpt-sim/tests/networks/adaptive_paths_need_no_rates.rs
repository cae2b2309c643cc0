//! One flow with adaptive mapping, and nothing configured but addresses, fills paths of unequal rates and delays, and a path that loses packets does
//! not drag the others down.

use std::time::Duration;

use mpt_core::Mapping;
use mpt_link::Probability;
use mpt_sim::tunnel::{Case, Path, Profile};

const SEED: u64 = 1;

/// Megabits per second that a flow of 12 s reaches from second 3 to 10 over these paths: rate in Mbit/s, delay in ms.
fn goodput(paths: Vec<Path>) -> f64 {
    let paths = paths.into_iter().map(|path| Path { weight: 1, ..path }).collect();
    let mut case = Case::new(Profile::Ours, paths, SEED);
    (case.mapping, case.duration) = (Mapping::Adaptive, Duration::from_secs(12));
    let (mut at_3, mut at_10) = (0, 0);
    case.run_with(|time, bytes| {
        let seconds = time.as_duration().as_secs_f64();
        if seconds < 3.0 {
            at_3 = bytes;
        }
        if seconds < 10.0 {
            at_10 = bytes;
        }
    });
    (at_10 - at_3) as f64 * 8.0 / 7e6
}

fn path(megabits: u16, millis: u64) -> Path {
    Path::new(megabits, Duration::from_millis(millis))
}

#[test]
fn equal_paths_carry_their_sum() {
    let reached = goodput(vec![path(50, 20), path(50, 20)]);
    assert!(reached >= 89.0, "{reached} Mbit/s, seed {SEED}");
}

#[test]
fn a_path_of_a_quarter_of_the_rate_adds_it() {
    let reached = goodput(vec![path(50, 20), path(12, 20)]);
    assert!(reached >= 55.0, "{reached} Mbit/s, seed {SEED}");
}

#[test]
fn a_path_of_a_tenth_of_the_rate_takes_nothing_away() {
    let reached = goodput(vec![path(100, 20), path(10, 20)]);
    assert!(reached >= 98.0, "{reached} Mbit/s, seed {SEED}");
}

#[test]
fn a_path_longer_by_100_ms_adds_its_rate() {
    let reached = goodput(vec![path(50, 20), path(50, 120)]);
    assert!(reached >= 87.0, "{reached} Mbit/s, seed {SEED}");
}

#[test]
fn three_paths_of_different_rates_and_delays_carry_95_percent_of_their_sum() {
    let reached = goodput(vec![path(100, 5), path(50, 20), path(10, 60)]);
    assert!(reached >= 0.95 * 0.932 * 160.0, "{reached} Mbit/s, seed {SEED}");
}

/// Shared packet by packet, these two carry 3 Mbit/s; the fibre alone carries 287.
#[test]
fn a_path_that_loses_packets_leaves_the_other_what_it_carries() {
    let mut lte = path(30, 40);
    lte.jitter = Duration::from_millis(8);
    lte.loss = Probability::new(0.005).expect("a share").into();
    let reached = goodput(vec![path(300, 8), lte]);
    assert!(reached >= 275.0, "{reached} Mbit/s, seed {SEED}");
}

/// Two lossy paths carry their sum; without repair they carry 5 Mbit/s.
#[test]
fn paths_that_lose_half_a_per_cent_carry_their_sum() {
    let mut lossy = path(50, 20);
    lossy.loss = Probability::new(0.005).expect("a share").into();
    let reached = goodput(vec![lossy, lossy]);
    assert!(reached >= 84.0, "{reached} Mbit/s, seed {SEED}");
}

/// Each packet takes 20 ms and something: without play-out TCP takes that for a queue.
#[test]
fn paths_with_jitter_carry_their_sum() {
    let mut jittery = path(50, 20);
    jittery.jitter = Duration::from_millis(5);
    let reached = goodput(vec![jittery, jittery]);
    assert!(reached >= 89.0, "{reached} Mbit/s, seed {SEED}");
}
