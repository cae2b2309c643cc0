//! The tables of `docs/performance.md`, made from measurements.

use std::path::Path;

use anyhow::Result;

use super::criterion::{BOUNDS, MEDIAN};
use super::figures::FIGURES;
use crate::results::document::escaped;
use crate::results::record::{Record, number, spread};

/// Name of the results that are kept for the document.
pub(super) const STORED: &str = "bench";
/// Returns the tables by the names of their markers: none when nothing is kept in the directory.
pub(crate) fn tables(directory: &Path) -> Result<Vec<(String, String)>> {
    let record = Record::load(directory, STORED)?;
    let tables = record.map(|record| {
        vec![
            ("targets".into(), targets(&record)),
            ("measured".into(), measured(&record)),
            ("criterion".into(), criterion(&record)),
        ]
    });
    Ok(tables.unwrap_or_default())
}

/// The figures that have to reach something.
fn targets(record: &Record) -> String {
    let mut text = format!(
        "{}\n| figure | value | unit | must | goal | reached |\n|---|---:|---|---:|---:|---|\n",
        record.heading()
    );
    for figure in FIGURES {
        let Some(target) = figure.target else { continue };
        let value = figure.value.from(&record.samples);
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            escaped(figure.title),
            spread(value, &figure.value.each(&record.samples)),
            figure.unit,
            escaped(&target.limit(target.must())),
            escaped(&target.limit(target.goal())),
            target.word(value)
        );
    }
    text
}

/// Returns what they are made of.
fn measured(record: &Record) -> String {
    let mut text = format!("{}\n| measured | value | unit |\n|---|---:|---|\n", record.heading());
    for figure in FIGURES.iter().filter(|figure| figure.target.is_none()) {
        let value = figure.value.from(&record.samples);
        let value = spread(value, &figure.value.each(&record.samples));
        text += &format!("| {} | {value} | {} |\n", escaped(figure.title), figure.unit);
    }
    text
}

/// Returns the table of every benchmark of `cargo bench`.
fn criterion(record: &Record) -> String {
    let mut text = format!(
        "Measured with `{}` on {}; one run of each benchmark: the median, and the 95 % confidence interval of the median.\n\n\
         | benchmark | ns | 95 % |\n|---|---:|---:|\n",
        record.command,
        escaped(&record.machine.to_string())
    );
    for name in record.samples.names() {
        let Some(id) = name.strip_prefix(MEDIAN).and_then(|id| id.strip_prefix('/')) else {
            continue;
        };
        let bounds = record.samples.values(&format!("{BOUNDS}/{id}")).iter().copied().map(number);
        let median = record.samples.median(name).map(number).unwrap_or_default();
        let bounds = bounds.collect::<Vec<_>>().join(" to ");
        text += &format!("| {} | {median} | {bounds} |\n", escaped(id));
    }
    text
}
