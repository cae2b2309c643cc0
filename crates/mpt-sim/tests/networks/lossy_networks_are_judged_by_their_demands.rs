//! Networks that lose packets: what counts, and what is due there.

use mpt_sim::experiments::{Experiment, Setting};
use mpt_sim::report::Report;

fn run(network: &str, method: &str) -> Report {
    Experiment::find("lossy-networks").unwrap().run(&Setting {
        seeds: Some(1),
        only: &[network.to_owned()],
        methods: &[method.to_owned()],
        trace: true,
        ..Setting::default()
    })
}

fn rate(report: &Report) -> f64 {
    report.tables[0].rows[0][2].split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_longest_round_trip_time_has_the_longest_flow() {
    let report = run("far_loss_1", "a-alone");
    let mut lines = report.traces[0].lines();
    let is_goodput = |name| name == "flow0_mbit";
    let column = lines.next().unwrap().split(',').position(is_goodput).unwrap();
    let rates: Vec<f64> =
        lines.map(|line| line.split(',').nth(column).unwrap().parse().unwrap()).collect();
    assert_eq!(rates.len(), 200, "20 s");
    let mean = rates[100..].iter().sum::<f64>() / 100.0;
    assert!((mean - rate(&report)).abs() < 0.1, "{mean} from 10 to 20 s: {report}");
    assert_eq!(report.findings.len(), 1, "the report says so: {report}");
}

#[test]
fn a_tunnel_that_misses_a_demand_is_reported() {
    let report = run("slow_loss_5", "adaptive");
    let due: f64 = report.tables[0].rows[0].last().unwrap().parse().unwrap();
    assert_eq!(due, 98.0);
    assert_eq!(report.misses.is_empty(), rate(&report) >= due, "{report}");
}
