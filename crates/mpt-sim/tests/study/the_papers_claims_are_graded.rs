//! The paper's claims on its figures 12 to 14, in the profile `ns3-2011`; docs/simulation.md says by how much each row differs.

use std::time::Duration;

use mpt_sim::congestion::Control;
use mpt_sim::study::paper::COLUMNS;
use mpt_sim::study::{Case, Outcome, Profile, in_parallel, median};
use mpt_sim::tcp::Treatment;

const SEEDS: u64 = 6;

/// Throughput over that of one path, which is what nothing treated gives; and use of the less used path.
fn gain(treatment: Treatment, control: Control, difference: u64) -> (f64, f64) {
    let cases: Vec<Case> = (0..SEEDS)
        .map(|seed| {
            let case = Case::study(Profile::Ns3, treatment, control, seed);
            case.with_difference(Duration::from_millis(difference))
        })
        .collect();
    let outcomes: Vec<Outcome> =
        in_parallel(&cases, Case::run, || {}).into_iter().map(Option::unwrap).collect();
    let less_used = |it: &Outcome| it.wire.iter().copied().fold(1.0, f64::min);
    (
        median(outcomes.iter().map(Outcome::throughput)) / 0.5 - 1.0,
        median(outcomes.iter().map(less_used)),
    )
}

#[test]
fn one_all_but_eifel_gain_substantially_up_to_200_ms() {
    for treatment in [Treatment::DSack, Treatment::TcpDoor, Treatment::FRto] {
        for control in COLUMNS {
            let (gain, _) = gain(treatment, control, 100);
            assert!(gain >= 0.2, "{treatment:?} {control:?}: {gain}");
        }
    }
}

#[test]
fn two_beyond_coupled_control_loses_most_of_it() {
    for treatment in [Treatment::DSack, Treatment::TcpDoor, Treatment::FRto] {
        for control in [Control::FullyCoupled, Control::Lia] {
            let ((before, _), (beyond, _)) =
                (gain(treatment, control, 100), gain(treatment, control, 400));
            assert!(beyond < before / 2.0, "{treatment:?} {control:?}: {before}, then {beyond}");
        }
    }
}

#[test]
fn three_uncoupled_control_uses_both_paths_up_to_500_ms() {
    for treatment in [Treatment::DSack, Treatment::TcpDoor] {
        let (gain, less_used) = gain(treatment, Control::Reno, 500);
        assert!(gain >= 0.4 && less_used >= 0.5, "{treatment:?}: {gain}, {less_used}");
    }
}
