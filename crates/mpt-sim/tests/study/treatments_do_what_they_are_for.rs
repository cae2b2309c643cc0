//! The treatments of the profile `rfc`, each where it helps: reordering within a subflow, and a delay that jumps.

use std::time::Duration;

use mpt_link::{Bitrate, Change, Redraw};
use mpt_sim::congestion::Control;
use mpt_sim::mptcp::{Options, Receiver, Scheduler, Sender};
use mpt_sim::simulation::{End, Simulation};
use mpt_sim::study::{Fluctuation, Outcome, PathPlan, Standard, in_parallel, join, median};
use mpt_sim::tcp::{Config, Counters, Treatment};
use mpt_sim::time::Time;

fn path(delay: u64, fluctuation: Option<Fluctuation>) -> PathPlan {
    PathPlan {
        rate: Bitrate::from_megabits(10).unwrap(),
        fluctuation,
        ..PathPlan::constant(Duration::from_millis(delay))
    }
}

fn options(treatment: Treatment) -> Options {
    let tcp = Config::standard(Control::Lia, treatment);
    let scheduler = Scheduler::MinRtt;
    Options { tcp, scheduler, receive_buffer: 10_000, total: Some(20_000) }
}

/// Use of SF-1 where every packet has a delay of its own.
fn share_of_the_far_path(treatment: Treatment) -> f64 {
    let jitter = Some(Fluctuation { share: 0.05, redraw: Redraw::EveryPacket });
    let runs: Vec<Standard> = (0..5)
        .map(|seed| Standard {
            options: options(treatment),
            paths: vec![path(10, jitter), path(50, jitter)],
            seed,
        })
        .collect();
    let outcomes: Vec<Outcome> = in_parallel(&runs, Standard::run, || {});
    median(outcomes.iter().map(|it| it.wire[1]))
}

#[test]
fn reordering_within_a_subflow() {
    let untreated = share_of_the_far_path(Treatment::None);
    assert!(untreated < 0.4, "{untreated}");
    for treatment in [Treatment::Eifel, Treatment::RackTlp] {
        let share = share_of_the_far_path(treatment);
        assert!(share > 0.9, "{treatment:?}: {share}");
    }
    let slowly = share_of_the_far_path(Treatment::DSack);
    assert!(slowly > 1.2 * untreated, "{slowly}, {untreated} without");
}

#[test]
fn order_that_is_kept_needs_no_treatment() {
    let runs: Vec<Standard> =
        [Treatment::None, Treatment::DSack, Treatment::Eifel, Treatment::FRto]
            .into_iter()
            .map(|treatment| Standard {
                options: options(treatment),
                paths: vec![path(10, None), path(50, None)],
                seed: 1,
            })
            .collect();
    let traces: Vec<u64> = in_parallel(&runs, |run| run.run().trace, || {});
    assert!(traces.iter().all(|trace| *trace == traces[0]), "{traces:?}");
}

/// One subflow, whose delay jumps from 20 ms to 2 s for everything sent within a second.
fn delay_jumps(treatment: Treatment) -> (Counters, Duration) {
    let (mut network, routes) = join(&[path(20, None)], 1);
    let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
    network.change(at(3000), routes[0].forward, Change::Delay(Duration::from_secs(2)));
    network.change(at(4000), routes[0].forward, Change::Delay(Duration::from_millis(1200)));
    let mut simulation = Simulation::new(network, true);
    let options = Options { total: Some(10_000), ..options(treatment) };
    simulation.add_flow(Sender::new(options, 1), Receiver::new(&options, 1), &routes, Time::ZERO);
    let end = simulation.run(at(600_000), |_, _, _| {});
    assert_eq!(end, End::Finished);
    let finished = simulation.flows()[0].finished.unwrap();
    (*simulation.flows()[0].sender.subflows()[0].counters(), finished.as_duration())
}

#[test]
fn a_timeout_that_was_not_due_is_taken_back() {
    let (untreated, _) = delay_jumps(Treatment::None);
    assert!(untreated.timeouts >= 1, "{untreated:?}");
    for treatment in [Treatment::FRto, Treatment::Eifel] {
        let (treated, _) = delay_jumps(treatment);
        assert!(treated.undone >= 1, "{treatment:?}: {treated:?}");
        assert!(treated.not_needed < untreated.not_needed, "{treatment:?}: {treated:?}");
    }
}
