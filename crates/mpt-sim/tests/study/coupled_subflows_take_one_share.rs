//! Connections of two subflows over one bottleneck, beside as many single-path connections: coupled, they take what
//! those take.

use std::time::Duration;

use mpt_link::{Bitrate, Redraw};
use mpt_sim::congestion::Control;
use mpt_sim::mptcp::{Options, Scheduler};
use mpt_sim::study::{Contest, Fluctuation, PathPlan, in_parallel, median};
use mpt_sim::tcp::{Config, Treatment};

/// Connections of each kind. A queue that drops what comes last drops the flows that grow; among several that jitter,
/// each gets its share of the losses, as the model of RFC 6356 has it.
const CONNECTIONS: usize = 5;

/// Share of the single-path connections, median over seeds.
fn left_to_the_other(control: Control) -> f64 {
    let of = |control, links| {
        let tcp = Config::standard(control, Treatment::RackTlp);
        let scheduler = Scheduler::MinRtt;
        (Options { tcp, scheduler, receive_buffer: 20_000, total: None }, links)
    };
    let link = PathPlan {
        rate: Bitrate::from_megabits(25).unwrap(),
        fluctuation: Some(Fluctuation { share: 0.25, redraw: Redraw::EveryPacket }),
        ..PathPlan::constant(Duration::from_millis(20))
    };
    let contests: Vec<Contest> = (0..4)
        .map(|seed| Contest {
            links: vec![link],
            connections: std::iter::repeat_n(of(control, vec![0, 0]), CONNECTIONS)
                .chain(std::iter::repeat_n(of(Control::Reno, vec![0]), CONNECTIONS))
                .collect(),
            warm_up: Duration::from_secs(30),
            measured: Duration::from_secs(60),
            sample: Duration::from_secs(60),
            seed,
        })
        .collect();
    let rates = in_parallel(&contests, Contest::run, || {});
    median(rates.iter().map(|rates| {
        let (ours, theirs) = rates.split_at(CONNECTIONS);
        let [ours, theirs] = [ours, theirs].map(|it| it.iter().flatten().flatten().sum::<f64>());
        theirs / (ours + theirs)
    }))
}

#[test]
fn linked_increases_leave_half() {
    let share = left_to_the_other(Control::Lia);
    assert!((0.4..=0.6).contains(&share), "{share}");
}

#[test]
fn uncoupled_subflows_leave_a_third() {
    let share = left_to_the_other(Control::Reno);
    assert!((0.25..=0.4).contains(&share), "{share}");
}
