//! Lossy, asymmetric links: what the paper leaves to the future.

use std::time::Duration;

use mpt_link::{Bitrate, Loss, Probability, Redraw};

use crate::report::{Report, Table};
use crate::study::paper::ROWS;
use crate::study::{
    Case, Fluctuation, Outcome, PathPlan, Profile, Spread, State, control_name, treatment_name,
};
use crate::transport::congestion::Control;
use crate::transport::mptcp::Scheduler;
use crate::transport::tcp::Treatment;

use super::{Experiment, Setting};

/// Returns the losses of both paths.
fn losses() -> [(&'static str, Loss); 5] {
    let random = |share| Probability::new(share).map_or(Loss::None, Loss::Bernoulli);
    let bursts = Probability::new(0.01).and_then(|mean| Loss::bursts(mean, 4.0));
    [
        ("none", Loss::None),
        ("0.1 %", random(0.001)),
        ("0.5 %", random(0.005)),
        ("2 %", random(0.02)),
        ("1 % in bursts of 4", bursts.unwrap_or_default()),
    ]
}

pub(super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let mut report = experiment.report(setting);
    // Delays that are drawn anew for every packet: at these rates they reorder within a subflow.
    let path = |kilobits: u64, delay, loss| {
        let base = PathPlan::study(Duration::from_millis(delay));
        let rate = Bitrate::new(kilobits * 1000).unwrap_or(base.rate);
        let fluctuation = Some(Fluctuation { share: 0.05, redraw: Redraw::EveryPacket });
        PathPlan { rate, fluctuation, loss, ..base }
    };
    let mut six = ROWS.to_vec();
    six.push(Treatment::RackTlp);
    for (profile, rows) in [(Profile::Ns3, &ROWS[..]), (Profile::Rfc, &six[..])] {
        for control in [Control::Reno, Control::Lia] {
            let cases: Vec<Case> = rows
                .iter()
                .flat_map(|&treatment| {
                    losses().map(|(_, loss)| Case {
                        paths: [path(5_000, 10, loss), path(2_000, 50, loss)],
                        scheduler: Scheduler::MinRtt,
                        ..Case::study(profile, treatment, control, 0)
                    })
                })
                .collect();
            let outcomes = experiment.run_all(setting, &cases);
            let names = losses().map(|(name, _)| name);
            let title = format!(
                "{}, {}: goodput in Mbit/s, median [range], 5 Mbit/s 10 ms + 2 Mbit/s 50 ms, +-5 % per packet",
                profile.name(),
                control_name(control)
            );
            let mut table = Table::new(&title, [""].into_iter().chain(names));
            for (row, outcomes) in rows.iter().zip(outcomes.chunks(names.len())) {
                let cells = outcomes.iter().map(|it| cell(it.as_deref().unwrap_or_default()));
                table
                    .rows
                    .push([treatment_name(*row).to_owned()].into_iter().chain(cells).collect());
            }
            report.tables.push(table);
        }
    }
    report
}

fn cell(outcomes: &[Outcome]) -> String {
    let Spread { least, median, most } = Spread::of(outcomes.iter().map(|it| it.goodput));
    let unfinished = outcomes.iter().filter(|it| it.state != State::Finished).count();
    let note = if unfinished > 0 { format!(", {unfinished} unfinished") } else { String::new() };
    format!("{median:.2} [{least:.2}-{most:.2}]{note}")
}
