//! A long path that adds next to nothing gets only copies of a flow's packets. The receiver does not have the packets of the other path wait for it.

use std::time::Duration;

use mpt_core::Mapping;
use mpt_sim::tunnel::{Case, Path, Profile};

const SEEDS: u64 = 8;
/// Size of a page that takes three round-trip times to send from nothing, in bytes.
const PAGE: u64 = 60_000;

/// Seconds until a flow over 100 Mbit/s and 20 ms, beside 2 Mbit/s and 150 ms, has delivered a page.
fn time_of_a_page(seed: u64) -> f64 {
    let path = |mbit, millis| Path { weight: 1, ..Path::new(mbit, Duration::from_millis(millis)) };
    let mut case = Case::new(Profile::Ours, vec![path(100, 20), path(2, 150)], seed);
    (case.mapping, case.duration) = (Mapping::Adaptive, Duration::from_secs(3));
    let mut done = f64::INFINITY;
    case.run_with(|time, bytes| {
        if bytes >= PAGE {
            done = done.min(time.as_duration().as_secs_f64());
        }
    });
    done
}

#[test]
fn a_page_takes_the_round_trip_times_of_the_short_path() {
    for seed in 1..=SEEDS {
        let time = time_of_a_page(seed);
        assert!(time < 0.2, "{time} s, seed {seed}");
    }
}
