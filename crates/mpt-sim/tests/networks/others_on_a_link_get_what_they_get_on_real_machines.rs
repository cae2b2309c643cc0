//! Steps of a rate, rivals and sparse flows: what was measured on real machines with equal weights comes out of the
//! simulator, too.

use mpt_sim::experiments::{Experiment, Setting};
use mpt_sim::report::Report;

fn run(name: &str, only: &[&str]) -> Report {
    let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
    Experiment::find(name).unwrap().run(&Setting {
        seeds: Some(1),
        only: &only,
        methods: &["equal".to_owned()],
        ..Setting::default()
    })
}

/// The first numbers of the cells of the only row, from this column on.
fn numbers(report: &Report, from: usize) -> Vec<f64> {
    let [row] = &report.tables[0].rows[..] else { panic!("one row: {report}") };
    row[from..].iter().filter_map(|cell| cell.split(' ').next()?.parse().ok()).collect()
}

#[test]
fn a_path_that_falls_to_a_third_takes_the_other_one_with_it() {
    let report = run("rate-steps", &[]);
    let [before, slow, after] = numbers(&report, 1)[..3] else { unreachable!() };
    // 186, 56 and 150 were measured.
    assert!((180.0..188.0).contains(&before), "{report}");
    assert!((50.0..66.0).contains(&slow), "{report}");
    assert!((140.0..187.0).contains(&after), "{report}");
}

#[test]
fn a_rival_on_the_only_link_gets_half_of_what_is_left_to_the_tunnel() {
    let report = run("competing", &["only-link"]);
    let [before, ours, rival] = numbers(&report, 2)[..3] else { unreachable!() };
    assert!((46.0..47.0).contains(&before), "{report}");
    // 31.7 and 15.4 were measured.
    assert!((28.0..35.0).contains(&ours) && (12.0..19.0).contains(&rival), "{report}");
}

#[test]
fn a_link_that_serves_flows_in_turns_gives_both_the_same_and_ping_no_queue() {
    let report = run("competing", &["fair-link"]);
    let [_, ours, rival, ping] = numbers(&report, 2)[..4] else { unreachable!() };
    assert!((ours - rival).abs() < 3.0 && ours + rival > 42.0, "{report}");
    assert!(ping < 45.0, "{report}");
}

#[test]
fn two_tunnels_on_a_link_fill_it() {
    let report = run("competing", &["two-tunnels"]);
    let [_, ours, other] = numbers(&report, 2)[..3] else { unreachable!() };
    assert!((45.5..46.7).contains(&(ours + other)) && other > 10.0, "{report}");
}

#[test]
fn keys_take_as_long_as_the_longer_path_where_paths_are_made_equally_long() {
    let report = run("latency", &["rtt_120"]);
    let [idle, _] = numbers(&report, 2)[..] else { unreachable!() };
    assert_eq!(idle, 240.0, "{report}");
}
