//! A long path that adds next to nothing gets only copies of a flow's packets. The receiver does not have the packets of the other path wait for it.

use std::time::Duration;

use mpt_sim::tunnel::Path;

use crate::page;

const SEEDS: u64 = 8;

#[test]
fn a_page_takes_the_round_trip_times_of_the_short_path() {
    let path = |mbit, millis| Path { weight: 1, ..Path::new(mbit, Duration::from_millis(millis)) };
    for seed in 1..=SEEDS {
        let time = page::time(vec![path(100, 20), path(2, 150)], seed);
        assert!(time < 0.2, "{time} s, seed {seed}");
    }
}
