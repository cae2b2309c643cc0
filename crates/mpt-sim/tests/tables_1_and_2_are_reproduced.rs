//! The profile `ns3-2011` against Tables I and II of the paper: 10 and 200 ms, +-5 % drawn anew every second, 30 seeds.
#![allow(missing_docs)]

use std::time::Duration;

use mpt_sim::ns3_2011::{Congestion, Options, Treatment};
use mpt_sim::study::paper::{CELLS, Cell};
use mpt_sim::study::{Outcome, PathPlan, Reproduction, Spread, State, in_parallel, median};

const SEEDS: u64 = 30;

fn run(cells: &[Cell]) -> Vec<Vec<Outcome>> {
    let paths = [10, 200].map(|delay| PathPlan::study(Duration::from_millis(delay)));
    let cases: Vec<Reproduction> = cells
        .iter()
        .flat_map(|cell| {
            let options = Options::study(cell.treatment, cell.congestion);
            (0..SEEDS).map(move |seed| Reproduction { options, paths, seed })
        })
        .collect();
    let outcomes = in_parallel(&cases, Reproduction::run, || {});
    assert!(outcomes.iter().all(|outcome| outcome.state == State::Finished));
    outcomes.chunks(SEEDS as usize).map(<[Outcome]>::to_vec).collect()
}

fn throughput(outcome: &Outcome) -> f64 {
    outcome.logged.as_ref().map_or(f64::NAN, |logged| logged.throughput)
}

/// Mean absolute error of a metric's medians over all cells; Eifel, which is graded by its range, is as far off as
/// the range is.
fn error(
    runs: &[Vec<Outcome>],
    metric: impl Fn(&Outcome) -> f64,
    paper: impl Fn(&Cell) -> f64,
) -> f64 {
    let distances = CELLS.iter().zip(runs).map(|(cell, outcomes)| {
        let spread = Spread::of(outcomes.iter().map(&metric));
        if cell.by_range() {
            (spread.least - paper(cell)).max(paper(cell) - spread.most).max(0.0)
        } else {
            (spread.median - paper(cell)).abs()
        }
    });
    distances.sum::<f64>() / CELLS.len() as f64
}

fn find(treatment: Treatment, congestion: Congestion) -> usize {
    CELLS
        .iter()
        .position(|cell| (cell.treatment, cell.congestion) == (treatment, congestion))
        .unwrap()
}

#[test]
fn errors_over_all_cells_are_small() {
    let runs = run(&CELLS);
    let errors = [
        error(&runs, throughput, |cell| cell.throughput),
        error(&runs, |it| 100.0 * it.out_of_order, |cell| cell.out_of_order),
        error(&runs, |it| it.largest_buffer as f64, |cell| cell.largest_buffer as f64),
    ];
    let limits = [0.05, 3.0, 15.0];
    assert!(errors.iter().zip(limits).all(|(error, limit)| *error <= limit), "{errors:?}");

    // Nothing treated: one path does it all.
    for (congestion, out_of_order) in
        [(Congestion::Uncoupled, 6.2), (Congestion::FullyCoupled, 5.0), (Congestion::Coupled, 5.0)]
    {
        let outcomes = &runs[find(Treatment::None, congestion)];
        let found = median(outcomes.iter().map(|it| 100.0 * it.out_of_order));
        assert!((found - out_of_order).abs() <= 0.3, "{congestion:?}: OOO-R {found}");
        let found = median(outcomes.iter().map(throughput));
        assert!((found - 0.5).abs() <= 0.02, "{congestion:?}: {found} Mbit/s");
        let found = median(outcomes.iter().map(|it| it.largest_buffer as f64));
        assert!((104.0..=106.0).contains(&found), "{congestion:?}: {found} packets");
    }
    // A full queue and what is on the way beside it.
    for (treatment, congestion) in [
        (Treatment::DSack, Congestion::Coupled),
        (Treatment::TcpDoor, Congestion::FullyCoupled),
        (Treatment::TcpDoor, Congestion::Coupled),
    ] {
        let outcomes = &runs[find(treatment, congestion)];
        let found = median(outcomes.iter().map(|it| it.largest_buffer as f64));
        assert!((188.0..=192.0).contains(&found), "{treatment:?} {congestion:?}: {found} packets");
    }
    let door = &runs[find(Treatment::TcpDoor, Congestion::Uncoupled)];
    let found = median(door.iter().map(|it| it.largest_buffer as f64));
    assert!((194.0..=228.0).contains(&found), "{found} packets");
}
