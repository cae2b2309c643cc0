//! The reordering of the paper is made by a receiver that does not acknowledge what is ahead of the connection.

use std::time::Duration;

use mpt_sim::ns3_2011::{Congestion, Options, Treatment};
use mpt_sim::study::{PathPlan, Reproduction, in_parallel, median};

const SEEDS: u64 = 10;
const COLUMNS: [Congestion; 3] =
    [Congestion::Uncoupled, Congestion::FullyCoupled, Congestion::Coupled];

#[test]
fn without_it_nothing_has_to_be_treated() {
    let paths = [10, 200].map(|delay| PathPlan::study(Duration::from_millis(delay)));
    for congestion in COLUMNS {
        for (hold, range) in [(true, 0.47..0.53), (false, 0.93..1.0)] {
            let options = Options { hold, ..Options::study(Treatment::None, congestion) };
            let cases: Vec<Reproduction> =
                (0..SEEDS).map(|seed| Reproduction { options, paths, seed }).collect();
            let outcomes = in_parallel(&cases, Reproduction::run, || {});
            let found = median(outcomes.iter().map(|it| it.goodput));
            assert!(range.contains(&found), "{congestion:?}, hold {hold}: {found} Mbit/s");
        }
    }
}
