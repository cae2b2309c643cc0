//! Tunnels that know nothing of one another share a link alike, and links that mark packets instead of dropping them carry more than one
//! path alone. Nothing is configured.

use mpt_sim::experiments::{Experiment, Setting};
use mpt_sim::report::Report;

const SEEDS: usize = 3;

fn run(name: &str, part: &str) -> Report {
    Experiment::find(name).expect("a name of `mpt-sim list`").run(&Setting {
        seeds: Some(SEEDS as u64),
        first_seed: 1,
        only: &[part.to_owned()],
        methods: &["adaptive".to_owned()],
        ..Setting::default()
    })
}

/// The numbers that cells of the only row begin with, from the first cell that has one on.
fn numbers(report: &Report) -> Vec<f64> {
    let [row] = &report.tables[0].rows[..] else { panic!("one row: {report}") };
    row.iter().filter_map(|cell| cell.split(' ').next()?.parse().ok()).collect()
}

#[test]
fn the_second_tunnel_gets_what_the_first_one_has() {
    let report = run("competing", "two-tunnels");
    let [_, first, second, ..] = numbers(&report)[..] else { panic!("{report}") };
    assert!(first >= 20.0 && second >= 20.0, "{report}");
}

/// The demand on two paths of 50 Mbit/s beside a cubic flow of somebody else on one of them: more than the other path alone, and no
/// less for the other flow than a third of its link.
#[test]
fn a_rival_on_one_of_two_links_leaves_the_tunnel_more_than_the_other_one() {
    let report = run("competing", "one-of-two");
    let [_, ours, other, ..] = numbers(&report)[..] else { panic!("{report}") };
    assert!(ours >= 58.0 && other >= 16.0, "{report}");
}

#[test]
fn fair_queues_that_mark_carry_three_quarters_of_their_sum() {
    let report = run("hard-links", "fq_codel_ecn");
    let [limit, carried, ..] = numbers(&report)[..] else { panic!("{report}") };
    assert!(carried > 0.75 * limit, "{report}");
}

#[test]
fn a_marking_threshold_below_ours_carries_more_than_one_path_alone() {
    let report = run("hard-links", "marks_5");
    let [limit, carried, ..] = numbers(&report)[..] else { panic!("{report}") };
    assert!(carried > 0.5 * limit, "{report}");
}
