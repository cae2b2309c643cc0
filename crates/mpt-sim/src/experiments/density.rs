//! Figures 5 and 11: the occupancy of the buffer (RBD).

use crate::report::{Figure, Report, Series, Style, Table};
use crate::study::paper::{COLUMNS, ROWS};
use crate::study::{Case, Outcome, Profile, control_name, treatment_name};
use crate::transport::congestion::Control;
use crate::transport::tcp::Treatment;

use super::{Experiment, Setting};

/// Largest number of packets in the buffer that a figure shows.
const FIGURE_5: usize = 10;
const FIGURE_11: usize = 250;
/// Columns of the tables, by the largest number of packets.
const COLUMNS_OF_TABLE: [usize; 6] = [0, 5, 10, 50, 100, 200];

pub(super) fn untreated(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let list = |profile| {
        COLUMNS.map(|control| {
            (control_name(control), Case::study(profile, Treatment::None, control, 0))
        })
    };
    let lists = [Profile::Ns3, Profile::Rfc].map(|profile| (profile, list(profile).to_vec()));
    run(experiment, setting, lists, FIGURE_5, Style::Bars)
}

pub(super) fn coupled(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let list = |profile, rows: &[Treatment]| {
        let case =
            |&it: &Treatment| (treatment_name(it), Case::study(profile, it, Control::Lia, 0));
        rows.iter().map(case).collect::<Vec<_>>()
    };
    let mut six = ROWS.to_vec();
    six.push(Treatment::RackTlp);
    let lists =
        [(Profile::Ns3, list(Profile::Ns3, &ROWS)), (Profile::Rfc, list(Profile::Rfc, &six))];
    run(experiment, setting, lists, FIGURE_11, Style::Lines)
}

fn run(
    experiment: &Experiment,
    setting: &Setting<'_>,
    lists: [(Profile, Vec<(&str, Case)>); 2],
    up_to: usize,
    style: Style,
) -> Report {
    let mut report = experiment.report(setting);
    for (profile, list) in lists {
        let cases: Vec<Case> = list.iter().map(|(_, case)| *case).collect();
        let outcomes = experiment.run_all(setting, &cases);
        let title = format!("{}: buffer occupancy (RBD), mean over seeds", profile.name());
        let heading: Vec<String> = COLUMNS_OF_TABLE.iter().map(|it| format!("<= {it}")).collect();
        let heading = [""].into_iter().chain(heading.iter().map(String::as_str)).chain(["largest"]);
        let mut table = Table::new(&format!("{title}, cumulative, % of arrivals"), heading);
        let mut series = Vec::new();
        for ((name, _), outcomes) in list.iter().zip(outcomes) {
            let density = mean(&outcomes.unwrap_or_default());
            let below = |limit: usize| density.iter().take(limit + 1).sum::<f64>();
            let cells =
                COLUMNS_OF_TABLE.iter().map(|&limit| format!("{:.1}", 100.0 * below(limit)));
            let largest = density.len().saturating_sub(1).to_string();
            table
                .rows
                .push([(*name).to_owned()].into_iter().chain(cells).chain([largest]).collect());
            let points = density.iter().take(up_to + 1).enumerate().map(|(x, &y)| (x as f64, y));
            series.push(Series { name: (*name).to_owned(), points: points.collect() });
        }
        report.tables.push(table);
        report.figures.push(Figure {
            name: format!("{}-{}", experiment.name, profile.name()),
            title,
            x: "packets in the buffer".to_owned(),
            y: "share of arrivals".to_owned(),
            series,
            style,
            groups: Vec::new(),
        });
    }
    report
}

fn mean(outcomes: &[Outcome]) -> Vec<f64> {
    let length = outcomes.iter().map(|it| it.density.len()).max().unwrap_or(0);
    let mut mean = vec![0.0; length];
    for outcome in outcomes {
        for (sum, share) in mean.iter_mut().zip(&outcome.density) {
            *sum += share / outcomes.len() as f64;
        }
    }
    mean
}
