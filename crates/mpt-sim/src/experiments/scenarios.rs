//! Section IV-C.1: nothing treated, four networks.

use std::time::Duration;

use crate::report::{Report, Table};
use crate::study::paper::COLUMNS;
use crate::study::{Case, Outcome, PathPlan, Profile, control_name, median};
use crate::transport::tcp::Treatment;

use super::{Experiment, Setting};

pub(super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let [constant, fluctuating] = [PathPlan::constant, PathPlan::study];
    let [near, far] = [10, 200].map(Duration::from_millis);
    // The volume of both paths in 80 s: before queues overflow for the first time.
    let short = 6_800;
    let scenarios = [
        ("1: 10/10 ms, constant", [constant(near), constant(near)], None, "1.0"),
        ("1: the same, first 6,800 packets", [constant(near), constant(near)], Some(short), "1.0"),
        ("2: 10/10 ms, SF-0 fluctuates", [fluctuating(near), constant(near)], None, "0.5"),
        ("3: 10/200 ms, constant", [constant(near), constant(far)], None, "0.5"),
        ("4: 10/200 ms, both fluctuate", [fluctuating(near), fluctuating(far)], None, "0.5"),
    ];
    let mut cases = Vec::new();
    for (_, paths, packets, _) in &scenarios {
        for profile in [Profile::Ns3, Profile::Rfc] {
            for control in COLUMNS {
                let case = Case::study(profile, Treatment::None, control, 0);
                let packets = packets.unwrap_or(case.packets);
                cases.push(Case { paths: *paths, packets, ..case });
            }
        }
    }
    let mut outcomes =
        experiment.run_all(setting, &cases).into_iter().map(Option::unwrap_or_default);
    let mut report = experiment.report(setting);
    for profile in [Profile::Ns3, Profile::Rfc] {
        let heading =
            ["", "control", "paper", "gThr", "goodput", "wire SF-0/SF-1 %", "largest buffer"];
        report.tables.push(Table::new(&format!("{}, medians, Mbit/s", profile.name()), heading));
    }
    for (name, _, _, paper) in scenarios {
        for table in &mut report.tables {
            for control in COLUMNS {
                let outcomes = outcomes.next().unwrap_or_default();
                let of = |metric: &dyn Fn(&Outcome) -> f64| median(outcomes.iter().map(metric));
                table.rows.push(vec![
                    name.to_owned(),
                    control_name(control).to_owned(),
                    paper.to_owned(),
                    format!("{:.2}", of(&Outcome::throughput)),
                    format!("{:.2}", of(&|it| it.goodput)),
                    format!(
                        "{:.0}/{:.0}",
                        100.0 * of(&|it| it.wire[0]),
                        100.0 * of(&|it| it.wire[1])
                    ),
                    format!("{:.0}", of(&|it| it.largest_buffer as f64)),
                ]);
            }
        }
    }
    report
}
