//! Coupled control uses one path only beyond 200 ms of difference, because the retransmission timer may be 0.2 s.

use std::time::Duration;

use mpt_sim::ns3_2011::{Congestion, Options, Treatment};
use mpt_sim::study::{Outcome, PathPlan, Reproduction, in_parallel, median};

const SEEDS: u64 = 10;

/// Median of the logged throughput with TCP-DOOR and coupled control, in Mbit/s.
fn throughput(difference: u64, minimum_rto: Duration) -> f64 {
    let study = Options::study(Treatment::TcpDoor, Congestion::Coupled);
    let options = Options { minimum_rto, ..study };
    let paths = [10, 10 + difference].map(|delay| PathPlan::study(Duration::from_millis(delay)));
    let cases: Vec<Reproduction> =
        (0..SEEDS).map(|seed| Reproduction { options, paths, seed }).collect();
    let outcomes = in_parallel(&cases, Reproduction::run, || {});
    median(outcomes.iter().map(Outcome::throughput))
}

#[test]
fn it_falls_between_200_and_250_ms_with_the_timer_of_the_study() {
    let [before, beyond] = [200, 250].map(|at| throughput(at, Duration::from_millis(200)));
    assert!(before - beyond >= 0.15, "{before} at 200 ms, {beyond} at 250 ms");
}

#[test]
fn it_does_not_fall_with_a_timer_of_at_least_a_second() {
    let [before, beyond] = [200, 250].map(|at| throughput(at, Duration::from_secs(1)));
    assert!(before - beyond <= 0.05, "{before} at 200 ms, {beyond} at 250 ms");
}
