//! A call over two paths that lose packets: forward error correction restores what is lost within its bounds of bytes and time.

use mpt_sim::experiments::{Experiment, Setting};
use mpt_sim::report::Report;

fn run(network: &str, seeds: u64) -> Report {
    Experiment::find("realtime").unwrap().run(&Setting {
        seeds: Some(seeds),
        only: &[network.to_owned()],
        ..Setting::default()
    })
}

/// The number with which a cell begins.
fn number(report: &Report, way: &str, column: usize) -> f64 {
    let row = report.tables[0].rows.iter().find(|row| row[1] == way).expect("a way");
    row[column].split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_demands_are_met_where_two_per_cent_are_lost() {
    let report = run("loss_2", 1);
    assert_eq!(report.misses, [""; 0], "{report}");
    assert!((1.5..2.5).contains(&number(&report, "nothing", 2)), "{report}");
    assert!(number(&report, "correction", 7) > 300.0, "{report}");
    assert_eq!(number(&report, "repair", 7), 0.0, "{report}");
}

#[test]
fn protection_takes_more_where_more_is_lost() {
    // What a survey finds of half a per cent differs by as much from run to run.
    let (little, much) = (run("loss_05", 4), run("loss_8", 4));
    let symbols = |report| number(report, "correction", 5) - number(report, "nothing", 5);
    assert!(symbols(&little) < 0.3 && symbols(&much) > 0.4, "{little}{much}");
    for report in [&little, &much] {
        let (bare, protected) = (number(report, "nothing", 2), number(report, "correction", 2));
        assert!(protected < bare / 10.0, "{report}");
    }
}
