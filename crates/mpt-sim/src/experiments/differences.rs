//! Figures 12 to 14: throughput over the difference of the delays.

use std::time::Duration;

use crate::report::{Figure, Report, Series, Style, Table};
use crate::study::paper::ROWS;
use crate::study::{Case, Outcome, Profile, control_name, median, treatment_name};
use crate::transport::congestion::Control;
use crate::transport::tcp::Treatment;

use super::{Experiment, Setting};

/// Differences of the delays, in milliseconds. The paper lacks 250, which shows on which side of
/// 200 the cliff is.
const DIFFERENCES: [u64; 8] = [0, 50, 100, 200, 250, 300, 400, 500];
/// The difference up to which the paper finds a substantial gain, in milliseconds; beyond it the
/// gain with coupled control is less than 20 %.
const CLIFF: u64 = 200;
/// Least gain that counts as substantial: the paper's smallest is F-RTO's 20 % (FC-CC, 0.60 over
/// 0.50).
const SUBSTANTIAL: f64 = 0.2;

pub(super) fn uncoupled(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    run(experiment, setting, Control::Reno)
}

pub(super) fn fully_coupled(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    run(experiment, setting, Control::FullyCoupled)
}

pub(super) fn coupled(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    run(experiment, setting, Control::Lia)
}

/// Medians of one row, by difference.
struct Row {
    name: String,
    treatment: Treatment,
    medians: Vec<f64>,
}

fn run(experiment: &Experiment, setting: &Setting<'_>, control: Control) -> Report {
    let mut report = experiment.report(setting);
    let study = |profile, treatment| Case::study(profile, treatment, control, 0);
    let ns3 = rows(
        experiment,
        setting,
        &ROWS.map(|it| (treatment_name(it).to_owned(), study(Profile::Ns3, it))),
    );
    let second = Some(Duration::from_secs(1));
    let patient = [Treatment::DSack, Treatment::TcpDoor].map(|treatment| {
        let case = Case { minimum_rto: second, ..study(Profile::Ns3, treatment) };
        (format!("{}, timer of at least 1 s", treatment_name(treatment)), case)
    });
    let patient = rows(experiment, setting, &patient);
    let six = ROWS.into_iter().chain([Treatment::RackTlp]);
    let six: Vec<_> =
        six.map(|it| (treatment_name(it).to_owned(), study(Profile::Rfc, it))).collect();
    let rfc = rows(experiment, setting, &six);

    let title = |profile: &str| format!("{profile}, {}: medians in Mbit/s", control_name(control));
    let logged: Vec<&Row> = ns3.iter().chain(&patient).collect();
    report.tables.push(table(&(title("ns3-2011") + ", as logged"), &logged));
    report.tables.push(table(&(title("rfc") + ", delivered"), &rfc.iter().collect::<Vec<_>>()));
    for (profile, rows) in [("ns3-2011", &ns3), ("rfc", &rfc)] {
        report.figures.push(Figure {
            name: format!("{}-{profile}", experiment.name),
            title: title(profile),
            x: "difference of delay, ms".to_owned(),
            y: "Mbit/s".to_owned(),
            series: rows.iter().map(series).collect(),
            style: Style::Lines,
            groups: Vec::new(),
        });
    }
    report.findings = claims(control, &ns3, &patient);
    report
}

fn rows(experiment: &Experiment, setting: &Setting<'_>, list: &[(String, Case)]) -> Vec<Row> {
    let cases: Vec<Case> = list
        .iter()
        .flat_map(|(_, case)| {
            DIFFERENCES.map(|difference| case.with_difference(Duration::from_millis(difference)))
        })
        .collect();
    let outcomes = experiment.run_all(setting, &cases);
    let medians: Vec<f64> =
        outcomes.iter().map(|it| median(it.iter().flatten().map(Outcome::throughput))).collect();
    list.iter()
        .zip(medians.chunks(DIFFERENCES.len()))
        .map(|((name, case), medians)| Row {
            name: name.clone(),
            treatment: case.treatment,
            medians: medians.to_vec(),
        })
        .collect()
}

fn table(title: &str, rows: &[&Row]) -> Table {
    let heading: Vec<String> = DIFFERENCES.iter().map(|it| format!("{it} ms")).collect();
    let mut table = Table::new(title, [""].into_iter().chain(heading.iter().map(String::as_str)));
    for row in rows {
        let cells = row.medians.iter().map(|median| format!("{median:.2}"));
        table.rows.push([row.name.clone()].into_iter().chain(cells).collect());
    }
    table
}

fn series(row: &Row) -> Series {
    let points = DIFFERENCES.iter().zip(&row.medians).map(|(&x, &y)| (x as f64, y)).collect();
    Series { name: row.name.clone(), points }
}

/// Gains over the untreated row in a range of differences: least and most, in percent.
fn gains(row: &Row, untreated: &Row, range: impl Fn(u64) -> bool) -> (f64, f64) {
    let gains = DIFFERENCES
        .iter()
        .zip(row.medians.iter().zip(&untreated.medians))
        .filter(|(difference, _)| range(**difference))
        .map(|(_, (with, without))| 100.0 * (with / without - 1.0));
    gains.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), gain| {
        (least.min(gain), most.max(gain))
    })
}

fn claims(control: Control, ns3: &[Row], patient: &[Row]) -> Vec<String> {
    let mut findings = Vec::new();
    let Some(untreated) = ns3.iter().find(|row| row.treatment == Treatment::None) else {
        return findings;
    };
    for row in ns3.iter().filter(|row| row.treatment != Treatment::None) {
        let (least, most) = gains(row, untreated, |difference| difference <= CLIFF);
        let (beyond_least, beyond_most) = gains(row, untreated, |difference| difference > CLIFF);
        let substantial =
            if least >= 100.0 * SUBSTANTIAL { "substantial" } else { "not substantial everywhere" };
        let beyond = match control {
            Control::Reno => "",
            _ if beyond_most < 20.0 => ", below the paper's 20 %",
            _ => ", not below the paper's 20 %",
        };
        findings.push(format!(
            "{}: gain {least:+.0} to {most:+.0} % up to 200 ms ({substantial}), {beyond_least:+.0} to \
             {beyond_most:+.0} % beyond{beyond}.",
            row.name
        ));
    }
    for row in patient {
        let standard = ns3.iter().find(|other| other.treatment == row.treatment);
        let beyond = |row: &Row| row.medians[DIFFERENCES.len() - 3];
        if let Some(standard) = standard {
            let cliff = match control {
                Control::Reno => "Without coupling there is no cliff",
                _ => "The cliff is the retransmission timer",
            };
            findings.push(format!(
                "{cliff}: {} at 300 ms goes from {:.2} to {:.2} Mbit/s where the timer is at least 1 s instead of \
                 0.2 s.",
                treatment_name(row.treatment),
                beyond(standard),
                beyond(row)
            ));
        }
    }
    findings
}
