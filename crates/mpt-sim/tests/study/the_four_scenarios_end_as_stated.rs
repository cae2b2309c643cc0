//! Section IV-C.1 of the paper: nothing treated, four networks.

use std::time::Duration;

use mpt_sim::ns3_2011::{Congestion, Options, Treatment};
use mpt_sim::study::{Outcome, PathPlan, Reproduction, in_parallel, median};

const SEEDS: u64 = 10;
const COLUMNS: [Congestion; 3] =
    [Congestion::Uncoupled, Congestion::FullyCoupled, Congestion::Coupled];

/// Median of a metric over seeds.
fn of(
    congestion: Congestion,
    paths: [PathPlan; 2],
    packets: u64,
    metric: impl Fn(&Outcome) -> f64,
) -> f64 {
    let options = Options { packets, ..Options::study(Treatment::None, congestion) };
    let cases: Vec<Reproduction> =
        (0..SEEDS).map(|seed| Reproduction { options, paths, seed }).collect();
    median(in_parallel(&cases, Reproduction::run, || {}).iter().map(metric))
}

fn constant(delay: u64) -> PathPlan {
    PathPlan::constant(Duration::from_millis(delay))
}

fn fluctuating(delay: u64) -> PathPlan {
    PathPlan::study(Duration::from_millis(delay))
}

#[test]
fn equal_and_constant_delays_use_both_paths() {
    // Until both queues overflow at once, which uncoupled windows take 99 s to bring about: 80 s of both paths.
    let packets = 80 * 1_000_000 / (1462 * 8);
    for congestion in COLUMNS {
        let paths = [constant(10); 2];
        let goodput = of(congestion, paths, packets, |it| it.goodput);
        assert!(goodput >= 0.93, "{congestion:?}: {goodput} Mbit/s");
        let buffer = of(congestion, paths, packets, |it| it.largest_buffer as f64);
        assert!(buffer <= 1.0, "{congestion:?}: {buffer} packets");
    }
}

#[test]
fn any_difference_leaves_one_path() {
    let whole = Options::study(Treatment::None, Congestion::Coupled).packets;
    for congestion in COLUMNS {
        for paths in [
            [fluctuating(10), constant(10)],
            [constant(10), constant(200)],
            [fluctuating(10), fluctuating(200)],
        ] {
            let throughput = of(congestion, paths, whole, Outcome::throughput);
            assert!((throughput - 0.5).abs() <= 0.03, "{congestion:?} {paths:?}: {throughput}");
        }
    }
}
