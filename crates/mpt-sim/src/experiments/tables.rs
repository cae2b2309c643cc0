//! Tables I and II.

use crate::report::{Report, Table};
use crate::study::paper::{CELLS, COLUMNS, Cell, ROWS};
use crate::study::{Case, Outcome, Profile, Spread, control_name, median, treatment_name};
use crate::transport::congestion::Control;
use crate::transport::tcp::Treatment;

use super::{Experiment, Setting};

/// The runs of all cells in the profile of the paper's simulator, then in that of the RFCs, which has one row more.
struct Runs {
    ns3: Vec<Vec<Outcome>>,
    rfc: Vec<(Treatment, Control, Vec<Outcome>)>,
}

fn run_all(experiment: &Experiment, setting: &Setting<'_>) -> Runs {
    let ns3 = CELLS.map(|cell| Case::study(Profile::Ns3, cell.treatment, cell.control, 0));
    let rows = ROWS.into_iter().chain([Treatment::RackTlp]);
    let rfc = rows.flat_map(|treatment| {
        COLUMNS.map(|control| Case::study(Profile::Rfc, treatment, control, 0))
    });
    let cases: Vec<Case> = ns3.into_iter().chain(rfc).collect();
    let mut outcomes =
        experiment.run_all(setting, &cases).into_iter().map(Option::unwrap_or_default);
    let ns3 = outcomes.by_ref().take(CELLS.len()).collect();
    let rfc = cases[CELLS.len()..]
        .iter()
        .zip(outcomes)
        .map(|(case, outcomes)| (case.treatment, case.control, outcomes))
        .collect();
    Runs { ns3, rfc }
}

/// Returns the mean of the distances of the medians from the paper.
fn error(
    runs: &[Vec<Outcome>],
    found: impl Fn(&Outcome) -> f64,
    paper: impl Fn(&Cell) -> f64,
) -> f64 {
    let cells = CELLS.iter().zip(runs);
    let distances =
        cells.map(|(cell, outcomes)| (median(outcomes.iter().map(&found)) - paper(cell)).abs());
    distances.sum::<f64>() / CELLS.len() as f64
}

/// Returns in how many of Eifel's cells some seed gives the paper's value. Eifel's runs differ much by seed.
fn reached(
    runs: &[Vec<Outcome>],
    found: impl Fn(&Outcome) -> f64,
    paper: impl Fn(&Cell) -> f64,
) -> String {
    let eifel = CELLS.iter().zip(runs).filter(|(cell, _)| cell.by_range());
    let within = eifel.map(|(cell, outcomes)| {
        let Spread { least, most, .. } = Spread::of(outcomes.iter().map(&found));
        (least..=most).contains(&paper(cell))
    });
    let within: Vec<bool> = within.collect();
    format!("{} of {}", within.iter().filter(|it| **it).count(), within.len())
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// Returns the median and the range of a quantity.
fn with_range(outcomes: &[Outcome], digits: usize, of: impl Fn(&Outcome) -> f64) -> String {
    let Spread { least, median, most } = Spread::of(outcomes.iter().map(of));
    format!("{median:.digits$} [{least:.digits$}-{most:.digits$}]")
}

pub(super) fn first(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let runs = run_all(experiment, setting);
    let mut report = experiment.report(setting);
    let heading = ["", "OOO-R %", "paper", "largest buffer, packets", "paper"];
    let mut table = Table::new("ns3-2011, medians and ranges", heading);
    for (cell, outcomes) in CELLS.iter().zip(&runs.ns3) {
        table.rows.push(vec![
            cell.name(),
            with_range(outcomes, 1, |it| 100.0 * it.out_of_order),
            format!("{:.1}", cell.out_of_order),
            with_range(outcomes, 0, |it| it.largest_buffer as f64),
            cell.largest_buffer.to_string(),
        ]);
    }
    report.tables.push(table);
    let mut table = Table::new("rfc, medians", ["", "OOO-R %", "largest buffer, packets"]);
    for (treatment, control, outcomes) in &runs.rfc {
        table.rows.push(vec![
            format!("{} {}", treatment_name(*treatment), control_name(*control)),
            percent(median(outcomes.iter().map(|it| it.out_of_order))),
            format!("{:.0}", median(outcomes.iter().map(|it| it.largest_buffer as f64))),
        ]);
    }
    report.tables.push(table);
    let ratio = error(&runs.ns3, |it| 100.0 * it.out_of_order, |cell| cell.out_of_order);
    let buffer = error(&runs.ns3, |it| it.largest_buffer as f64, |cell| cell.largest_buffer as f64);
    report.findings = vec![
        format!(
            "ns3-2011: mean absolute error of the medians over the 15 cells: OOO-R {ratio:.2} percentage points (at \
             most 3), largest buffer {buffer:.1} packets (at most 15)."
        ),
        format!(
            "Eifel's runs differ much by seed: the paper's OOO-R is within the range of the seeds in {} cells, its \
             largest buffer in {}.",
            reached(&runs.ns3, |it| 100.0 * it.out_of_order, |cell| cell.out_of_order),
            reached(&runs.ns3, |it| it.largest_buffer as f64, |cell| cell.largest_buffer as f64)
        ),
        "The paper's unit of the buffer is Mbit: every printed value is a whole number of packets of 1400 bytes."
            .to_owned(),
    ];
    report
}

pub(super) fn second(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let runs = run_all(experiment, setting);
    let mut report = experiment.report(setting);
    let heading = [
        "",
        "SF-0 %",
        "paper",
        "SF-1 %",
        "paper",
        "gThr Mbit/s",
        "paper",
        "goodput Mbit/s",
        "wire %",
    ];
    let mut table = Table::new("ns3-2011, medians; gThr and goodput with range", heading);
    let logged = |it: &Outcome, path: usize| {
        it.logged.as_ref().map_or(f64::NAN, |logged| logged.utilisation[path])
    };
    for (cell, outcomes) in CELLS.iter().zip(&runs.ns3) {
        let utilisation = |path| percent(median(outcomes.iter().map(|it| logged(it, path))));
        let not_graded =
            (cell.treatment, cell.control) == (Treatment::DSack, Control::FullyCoupled);
        table.rows.push(vec![
            cell.name(),
            utilisation(0),
            format!("{:.1}", cell.utilisation[0]),
            utilisation(1),
            format!("{:.1}{}", cell.utilisation[1], if not_graded { " (?)" } else { "" }),
            with_range(outcomes, 2, Outcome::throughput),
            format!("{:.2}", cell.throughput),
            with_range(outcomes, 2, |it| it.goodput),
            wire(outcomes),
        ]);
    }
    report.tables.push(table);
    let heading = ["", "goodput Mbit/s", "wire %", "retransmissions", "queue drops"];
    let mut table = Table::new("rfc, medians; goodput with range", heading);
    for (treatment, control, outcomes) in &runs.rfc {
        table.rows.push(vec![
            format!("{} {}", treatment_name(*treatment), control_name(*control)),
            with_range(outcomes, 2, |it| it.goodput),
            wire(outcomes),
            format!("{:.0}", median(outcomes.iter().map(|it| it.retransmissions as f64))),
            format!("{:.0}", median(outcomes.iter().map(|it| it.queue_drops as f64))),
        ]);
    }
    report.tables.push(table);
    let throughput = error(&runs.ns3, Outcome::throughput, |cell| cell.throughput);
    let untreated = |control: Control| {
        let mut rows = runs.rfc.iter();
        let row = rows.find(|(row, column, _)| (*row, *column) == (Treatment::None, control));
        row.map_or(f64::NAN, |(_, _, outcomes)| median(outcomes.iter().map(|it| it.goodput)))
    };
    report.findings = vec![
        format!(
            "ns3-2011: mean absolute error of the medians of gThroughput over the 15 cells: {throughput:.3} Mbit/s (at \
             most 0.05); the paper's value of Eifel is within the range of the seeds in {} cells. D-SACK/FC-CC's SF-1 \
             of 50 % is not graded: it contradicts the row's own gThroughput.",
            reached(&runs.ns3, Outcome::throughput, |cell| cell.throughput)
        ),
        format!(
            "rfc: with nothing treated {:.2} / {:.2} / {:.2} Mbit/s (Un/FC/Co) of at most 0.95: with a receiver that \
             acknowledges each subflow for itself there is nothing to treat.",
            untreated(Control::Reno),
            untreated(Control::FullyCoupled),
            untreated(Control::Lia)
        ),
        "The paper's text says that Eifel improves uncoupled but not coupled control; its table has 0.82 for Co-CC \
         and 0.68 for Un-CC. It says that D-SACK leads the others by at least 40 % with FC-CC; its table has 0.80 \
         over 0.61, which is 31 %."
            .to_owned(),
    ];
    report
}

fn wire(outcomes: &[Outcome]) -> String {
    let of =
        |path: usize| format!("{:.0}", 100.0 * median(outcomes.iter().map(|it| it.wire[path])));
    format!("{}/{}", of(0), of(1))
}
