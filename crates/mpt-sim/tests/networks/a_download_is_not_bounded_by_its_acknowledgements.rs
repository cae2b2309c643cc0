//! Where the way back carries a fiftieth of the way there, the acknowledgements of a download fill it. A tunnel sends as many as
//! the way back carries, so the download gets what its paths carry.

use mpt_sim::experiments::{Experiment, Setting};

/// While a segment is missing, each one that arrives is acknowledged by a block of its own, and 8,000 of them in a
/// second are six times what the way back carries.
#[test]
fn a_dropped_segment_does_not_fill_the_way_back() {
    let only = ["slow_back".to_owned()];
    let methods = ["adaptive".to_owned()];
    for seed in 1..=6 {
        let report = Experiment::find("hard-links").unwrap().run(&Setting {
            first_seed: seed,
            seeds: Some(1),
            only: &only,
            methods: &methods,
            ..Setting::default()
        });
        let row = &report.tables[0].rows[0];
        let rate: f64 = row[2].split(' ').next().unwrap().parse().unwrap();
        // With every block sent, these seeds had 53 to 91 Mbit/s of 93.5.
        assert!(rate >= 0.95 * row[1].trim().parse::<f64>().unwrap(), "seed {seed}: {report}");
    }
}

#[test]
fn a_slow_way_back_leaves_the_way_there_to_be_filled() {
    let only = ["slow_back".to_owned()];
    let methods = ["a-alone", "b-alone", "adaptive"].map(str::to_owned);
    let report = Experiment::find("hard-links").unwrap().run(&Setting {
        seeds: Some(6),
        only: &only,
        methods: &methods,
        ..Setting::default()
    });
    let row = &report.tables[0].rows[0];
    let rates: Vec<f64> =
        row[2..5].iter().map(|cell| cell.split(' ').next().unwrap().parse().unwrap()).collect();
    let [first, second, adaptive] = rates[..] else { panic!("{report}") };
    // 30 Mbit/s before acknowledgements were thinned and what sparse flows send without credit was bounded.
    assert!(adaptive >= 0.85 * (first + second), "{report}");
}
