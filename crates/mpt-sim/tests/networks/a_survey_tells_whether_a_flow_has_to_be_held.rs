//! A survey before there is any data shows whether paths lose packets. Over clean paths the first flow is not held for repairs; over paths that lose
//! packets it is, from its first packet on.

use std::time::Duration;

use mpt_link::Probability;
use mpt_sim::tunnel::Path;

use crate::page;

const SEEDS: u64 = 8;

/// Seconds until a flow over two paths of 50 Mbit/s and 20 ms that lose this share of their packets has delivered a page.
fn time_of_a_page(loss: f64, seed: u64) -> f64 {
    let path = || Path {
        weight: 1,
        loss: Probability::new(loss).expect("a share").into(),
        ..Path::new(50, Duration::from_millis(20))
    };
    page::time(vec![path(), path()], seed)
}

#[test]
fn over_clean_paths_it_has_not() {
    for seed in 1..=SEEDS {
        let time = time_of_a_page(0.0, seed);
        assert!(time < 0.2, "{time} s, seed {seed}");
    }
}

#[test]
fn over_paths_that_lose_packets_it_has() {
    let held = (1..=SEEDS).filter(|&seed| time_of_a_page(0.02, seed) > 0.3).count();
    assert_eq!(held as u64, SEEDS);
}
