//! Links that wander, jump, send in slots or have short queues carry one TCP flow as their rates say: what a tunnel lacks
//! over them is the tunnel's.

use mpt_sim::experiments::{Experiment, Setting};

#[test]
fn one_path_alone_is_nearly_full() {
    let only = ["wander_5", "queue_10", "queue_20", "jumps", "slots"].map(str::to_owned);
    let report = Experiment::find("hard-links").unwrap().run(&Setting {
        seeds: Some(1),
        only: &only,
        methods: &["a-alone".to_owned()],
        ..Setting::default()
    });
    assert_eq!(report.tables[0].rows.len(), only.len());
    for row in &report.tables[0].rows {
        let rate: f64 = row[2].split(' ').next().unwrap().parse().unwrap();
        // 47.8 of 50 Mbit/s are payload. What waited in queues and buffers at 3 s counts besides, and the rates of 70
        // jumps have a mean of 50 to 3 %.
        assert!((45.0..50.0).contains(&rate), "{report}");
    }
}
