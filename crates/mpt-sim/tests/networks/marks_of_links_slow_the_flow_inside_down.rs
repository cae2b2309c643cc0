//! Links that mark: the mark goes from the outer header to the inner one, to the receiver, and back to the sender, which
//! slows down before anything has to be dropped.

use mpt_sim::experiments::{Experiment, Setting};

#[test]
fn a_flow_that_can_be_marked_loses_nothing() {
    let only = ["fq_codel", "fq_codel_ecn", "marks_5"].map(str::to_owned);
    let methods = ["a-alone", "equal"].map(str::to_owned);
    let report = Experiment::find("hard-links").unwrap().run(&Setting {
        seeds: Some(1),
        only: &only,
        methods: &methods,
        ..Setting::default()
    });
    let number = |cell: &String| cell.split(' ').next().unwrap().parse::<f64>().unwrap();
    let (rates, again) = (&report.tables[0].rows, &report.tables[2].rows);
    for (index, name) in only.iter().enumerate() {
        let limit = number(&rates[index][1]);
        for (column, share) in [(1, 0.5), (2, 1.0)] {
            let rate = number(&rates[index][column + 1]);
            assert!(rate > 0.75 * share * limit, "{name}: {report}");
            let again = number(&again[index][column]);
            assert_eq!(again > 0.0, name == "fq_codel", "{name}: {report}");
        }
    }
}
