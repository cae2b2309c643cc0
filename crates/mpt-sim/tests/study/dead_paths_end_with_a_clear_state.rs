//! A run that cannot make progress ends, and says so; a path that dies costs time, not data.

use std::time::Duration;

use mpt_link::{Loss, Probability};
use mpt_sim::congestion::Control;
use mpt_sim::mptcp::{Options, Scheduler};
use mpt_sim::study::{PathPlan, Standard, State};
use mpt_sim::tcp::{Config, Treatment};

fn run(alive: [bool; 2]) -> mpt_sim::study::Outcome {
    let loss = |alive| if alive { Loss::None } else { Loss::Bernoulli(Probability::ONE) };
    let paths = alive.map(|alive| PathPlan {
        loss: loss(alive),
        ..PathPlan::constant(Duration::from_millis(10))
    });
    let tcp = Config::standard(Control::Lia, Treatment::None);
    let scheduler = Scheduler::RoundRobin;
    let options = Options { tcp, scheduler, receive_buffer: 100, total: Some(1000) };
    Standard { options, paths: paths.to_vec(), seed: 1 }.run()
}

#[test]
fn all_paths_dead() {
    let outcome = run([false, false]);
    assert_eq!(outcome.state, State::NoProgress);
    assert_eq!(outcome.goodput, 0.0);
}

#[test]
fn one_path_dead() {
    for alive in [[true, false], [false, true]] {
        let outcome = run(alive);
        assert_eq!(outcome.state, State::Finished);
        assert!(outcome.goodput > 0.45, "{alive:?}: {} Mbit/s", outcome.goodput);
    }
}
