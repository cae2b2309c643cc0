//! The tables of `docs/performance.md` about clients.

use std::path::Path;

use anyhow::Result;

use super::figures::{FIGURES, Figure, MEMORY, SEALED};
use crate::results::document::escaped;
use crate::results::record::{Record, spread};

/// Name of the results that are kept for the document.
pub(super) const STORED: &str = "clients";
/// Returns the tables by the names of their markers: none when nothing is kept in the directory.
pub(crate) fn tables(directory: &Path) -> Result<Vec<(String, String)>> {
    let record = Record::load(directory, STORED)?;
    let tables = record.map(|record| {
        vec![
            ("clients".into(), table(&record, FIGURES)),
            ("clients-sealed".into(), table(&record, SEALED)),
            ("memory".into(), table(&record, MEMORY)),
        ]
    });
    Ok(tables.unwrap_or_default())
}

fn table(record: &Record, figures: &[Figure]) -> String {
    let mut text =
        format!("{}\n| figure | value | unit | limit |\n|---|---:|---|---:|\n", record.heading());
    for figure in figures {
        let each = record.samples.values(figure.title);
        let value = spread(record.samples.median(figure.title), each);
        let limit = figure.judge(&record.samples, false).limit.unwrap_or_default();
        let title = escaped(figure.title);
        text += &format!("| {title} | {value} | {} | {} |\n", figure.unit, escaped(&limit));
    }
    text
}
