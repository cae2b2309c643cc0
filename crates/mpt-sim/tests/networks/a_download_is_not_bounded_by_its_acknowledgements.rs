//! Where the way back carries a fiftieth of the way there, the acknowledgements of a download fill it. A tunnel sends as many as
//! the way back carries, so the download gets what its paths carry.

use mpt_sim::experiments::{Experiment, Setting};
use mpt_sim::report::Report;

/// Runs a download over a slow way back by each of these methods.
fn download(methods: &[&str], first_seed: u64, seeds: u64) -> Report {
    let methods: Vec<String> = methods.iter().map(|&method| method.to_owned()).collect();
    Experiment::find("hard-links").unwrap().run(&Setting {
        first_seed,
        seeds: Some(seeds),
        only: &["slow_back".to_owned()],
        methods: &methods,
        ..Setting::default()
    })
}

/// Returns the rates of a report in Mbit/s: the limit, and that of each method.
fn rates(report: &Report, methods: usize) -> Vec<f64> {
    let cells = &report.tables[0].rows[0][1..2 + methods];
    cells.iter().map(|cell| cell.trim().split(' ').next().unwrap().parse().unwrap()).collect()
}

/// Each segment that arrives behind a missing one is acknowledged by a block of its own. There are 8,000 of them in a
/// second, six times what the way back carries.
#[test]
fn a_dropped_segment_does_not_fill_the_way_back() {
    for seed in 1..=6 {
        let report = download(&["adaptive"], seed, 1);
        let [limit, rate] = rates(&report, 1)[..] else { panic!("{report}") };
        // With every block sent, these seeds had 53 to 91 Mbit/s of 93.5.
        assert!(rate >= 0.95 * limit, "seed {seed}: {report}");
    }
}

#[test]
fn a_slow_way_back_leaves_the_way_there_to_be_filled() {
    let report = download(&["a-alone", "b-alone", "adaptive"], 0, 6);
    let [_, first, second, adaptive] = rates(&report, 3)[..] else { panic!("{report}") };
    // 30 Mbit/s before acknowledgements were thinned and what sparse flows send without credit was bounded.
    assert!(adaptive >= 0.85 * (first + second), "{report}");
}
