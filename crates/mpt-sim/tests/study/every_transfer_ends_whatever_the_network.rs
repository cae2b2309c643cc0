//! Everything is delivered, once and in order, over any two paths, by every scheduler, treatment and control.

use std::time::Duration;

use mpt_link::{Bitrate, Loss, Probability, Redraw};
use mpt_sim::congestion::Control;
use mpt_sim::mptcp::{Options, Scheduler};
use mpt_sim::study::{Fluctuation, PathPlan, Standard, State};
use mpt_sim::tcp::{Config, Treatment};
use proptest::prelude::*;

const TREATMENTS: [Treatment; 6] = [
    Treatment::None,
    Treatment::DSack,
    Treatment::Eifel,
    Treatment::TcpDoor,
    Treatment::FRto,
    Treatment::RackTlp,
];
const CONTROLS: [Control; 6] = [
    Control::Reno,
    Control::Cubic,
    Control::FullyCoupled,
    Control::Lia,
    Control::Olia,
    Control::Balia,
];
const SCHEDULERS: [Scheduler; 5] = [
    Scheduler::RoundRobin,
    Scheduler::MinRtt,
    Scheduler::Blest,
    Scheduler::Ecf,
    Scheduler::Redundant,
];

fn path() -> impl Strategy<Value = PathPlan> {
    let redraw = prop_oneof![
        Just(Redraw::EveryPacket),
        (1_u64..2000).prop_map(|it| Redraw::Every(Duration::from_millis(it))),
    ];
    (100_u64..20_000, 0_u64..300, 0.0..0.9, redraw, 1_usize..200, 0.0..0.1).prop_map(
        |(kilobits, delay, share, redraw, queue, loss)| PathPlan {
            rate: Bitrate::new(kilobits * 1000).unwrap(),
            delay: Duration::from_millis(delay),
            fluctuation: Some(Fluctuation { share, redraw }),
            queue,
            loss: Loss::Bernoulli(Probability::new(loss).unwrap()),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn over_any_two_paths(
        paths in prop::collection::vec(path(), 1..4),
        treatment in prop::sample::select(&TREATMENTS[..]),
        control in prop::sample::select(&CONTROLS[..]),
        scheduler in prop::sample::select(&SCHEDULERS[..]),
        sack in prop::bool::weighted(0.8),
        receive_buffer in 1_u64..1000,
        total in 1_u64..1500,
        seed: u64,
    ) {
        let tcp = Config { sack, ..Config::standard(control, treatment) };
        let options = Options { tcp, scheduler, receive_buffer, total: Some(total) };
        let outcome = Standard { options, paths: paths.clone(), seed }.run();
        prop_assert_eq!(outcome.state, State::Finished);
        // The delivered bytes came over the links.
        let possible: f64 =
            paths.iter().map(|path| path.rate.bits_per_second() as f64 / 1e6).sum();
        prop_assert!(outcome.goodput <= possible);
        prop_assert!(outcome.largest_buffer as u64 <= receive_buffer);
    }
}
