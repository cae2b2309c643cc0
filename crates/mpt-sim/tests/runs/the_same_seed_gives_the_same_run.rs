//! Determinism, as shown by the hash of the trace.

use std::time::Duration;

use mpt_sim::ns3_2011::{Congestion, Options, Treatment};
use mpt_sim::study::{Outcome, PathPlan, Reproduction};

fn run(treatment: Treatment, seed: u64) -> Outcome {
    let study = Options::study(treatment, Congestion::Coupled);
    let options = Options { packets: 3000, ..study };
    let paths = [10, 200].map(|delay| PathPlan::study(Duration::from_millis(delay)));
    Reproduction { options, paths, seed }.run()
}

#[test]
fn twice_the_same() {
    for treatment in [Treatment::DSack, Treatment::FRto] {
        assert_eq!(run(treatment, 7), run(treatment, 7));
        assert_ne!(run(treatment, 7).trace, run(treatment, 8).trace);
    }
}

/// These hold on every machine: a difference means that something is computed differently.
#[test]
fn traces_are_those_of_other_machines() {
    let traces = [Treatment::None, Treatment::DSack, Treatment::FRto].map(|it| run(it, 1).trace);
    assert_eq!(traces, [9930021582749540139, 14687860782499221087, 1565774076516582137]);
}
