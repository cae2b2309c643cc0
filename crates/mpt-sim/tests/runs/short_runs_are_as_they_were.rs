//! Short runs of every cell in both profiles: a change of behaviour is a difference to read.

use mpt_sim::report::Table;
use mpt_sim::study::paper::{COLUMNS, ROWS};
use mpt_sim::study::{Case, Profile, control_name, in_parallel, treatment_name};
use mpt_sim::tcp::Treatment;

#[test]
fn short_runs_are_as_they_were() {
    let mut cases = Vec::new();
    for profile in [Profile::Ns3, Profile::Rfc] {
        for treatment in ROWS.into_iter().chain([Treatment::RackTlp]) {
            for control in COLUMNS {
                let case = Case::study(profile, treatment, control, 1);
                cases.push(Case { packets: 4000, ..case });
            }
        }
    }
    cases.retain(Case::exists);
    let outcomes = in_parallel(&cases, Case::run, || {});
    let heading = ["", "throughput", "goodput", "OOO-R %", "buffer", "again", "drops", "events"];
    let mut table = Table::new("4000 packets, 10/200 ms, seed 1", heading);
    for (case, outcome) in cases.iter().zip(outcomes) {
        let outcome = outcome.unwrap();
        let (row, column) = (treatment_name(case.treatment), control_name(case.control));
        table.rows.push(vec![
            format!("{} {row} {column}", case.profile.name()),
            format!("{:.3}", outcome.throughput()),
            format!("{:.3}", outcome.goodput),
            format!("{:.2}", 100.0 * outcome.out_of_order),
            outcome.largest_buffer.to_string(),
            outcome.retransmissions.to_string(),
            outcome.queue_drops.to_string(),
            outcome.events.to_string(),
        ]);
    }
    insta::assert_snapshot!(table.to_string());
}
