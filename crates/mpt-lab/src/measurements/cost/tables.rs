//! The cost of a property, as a table of a document and of the terminal.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use mpt_text::table::Table;

use crate::results::document::escaped;
use crate::results::record::{Record, spread};
use mpt_report::statistics;

/// First parts of the samples' names.
pub(super) const SIDES: [&str; 2] = ["with", "without"];
/// First part of the names of the results that are kept.
const STORED: &str = "cost-";

/// Name of a property's results.
pub(super) fn stored(property: &str) -> String {
    format!("{STORED}{property}")
}

/// Returns the tables by the names of their markers: one for each property of which results are kept in the directory.
pub(crate) fn tables(directory: &Path) -> Result<Vec<(String, String)>> {
    let mut tables = Vec::new();
    if !directory.exists() {
        return Ok(tables);
    }
    let entries = directory.read_dir().with_context(|| directory.display().to_string())?;
    for entry in entries {
        let file = entry?.file_name();
        let name = file.to_str().and_then(|file| file.strip_suffix(".json"));
        let Some(name) = name.filter(|name| name.starts_with(STORED)) else { continue };
        if let Some(record) = Record::load(directory, name)? {
            tables.push((name.to_owned(), markdown(&record)));
        }
    }
    Ok(tables)
}

/// One line of the table.
struct Line {
    figure: String,
    with: String,
    without: String,
    /// Median of the pairs' ratios, with the smallest and the largest.
    ratio: String,
    /// The 95 % confidence interval of that median.
    interval: String,
}

fn lines(record: &Record) -> Vec<Line> {
    let names: BTreeSet<&str> =
        record.samples.names().filter_map(|name| name.split_once('/')).map(|it| it.1).collect();
    // The transfers first.
    let (benches, transfers): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| name.starts_with("bench/"));
    let line = |name: &str| {
        let [with, without] = SIDES.map(|side| record.samples.values(&format!("{side}/{name}")));
        let ratios: Vec<f64> =
            with.iter().zip(without).map(|(with, without)| with / without).collect();
        Line {
            figure: title(name),
            with: spread(statistics::median(with), with),
            without: spread(statistics::median(without), without),
            ratio: spread(statistics::median(&ratios), &ratios),
            interval: statistics::median_interval(&ratios)
                .map_or_else(String::new, |(from, to)| format!("{from:.3} to {to:.3}")),
        }
    };
    transfers.into_iter().chain(benches).map(line).collect()
}

fn title(name: &str) -> String {
    match name {
        "goodput" => "one TCP flow, Gbit/s".into(),
        "goodput-together" => "all TCP flows, Gbit/s".into(),
        "cpu-send" => "CPU time at the sending end, s/GB".into(),
        "cpu-receive" => "CPU time at the receiving end, s/GB".into(),
        _ => format!("{}, ns", name.strip_prefix("bench/").unwrap_or(name)),
    }
}

fn markdown(record: &Record) -> String {
    let mut text = format!(
        "Measured with `{}` on {}; {}. Medians, in brackets the smallest and the largest; the ratio is that of each pair.\n\n\
         | figure | with | without | with / without |\n|---|---:|---:|---:|\n",
        record.command,
        escaped(&record.machine.to_string()),
        escaped(&record.extent)
    );
    for line in lines(record) {
        let Line { figure, with, without, ratio, .. } = line;
        text += &format!("| {} | {with} | {without} | {ratio} |\n", escaped(&figure));
    }
    let benches: Vec<f64> = benches(record);
    if let Some(median) = statistics::median(&benches) {
        text += &format!(
            "\nThe ratio of a benchmark's medians, over all {} benchmarks: median {}.\n",
            benches.len(),
            spread(Some(median), &benches)
        );
    }
    text
}

/// Returns the ratio of each benchmark.
fn benches(record: &Record) -> Vec<f64> {
    let names = record.samples.names().filter_map(|name| name.strip_prefix("with/bench/"));
    let ratio = |id: &str| {
        let [with, without] =
            SIDES.map(|side| record.samples.median(&format!("{side}/bench/{id}")));
        Some(with? / without?)
    };
    names.filter_map(ratio).collect()
}

/// Returns the table for a terminal.
pub(super) fn terminal(record: &Record) -> Table {
    let columns = ["figure", "with", "without", "with / without", "95 % of its median"];
    let mut table = Table::ruled(columns);
    for Line { figure, with, without, ratio, interval } in lines(record) {
        table.row([figure, with, without, ratio, interval]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_a_pair() {
        let mut record = Record::default();
        for (with, without) in [(9.0, 10.0), (4.0, 5.0), (20.0, 20.0)] {
            record.samples.add("with/goodput", with);
            record.samples.add("without/goodput", without);
            record.samples.add("with/bench/a", with);
            record.samples.add("without/bench/a", without);
        }
        let text = markdown(&record);
        assert!(text.contains("| one TCP flow, Gbit/s | 9.00 (4.00 to 20.0) |"), "{text}");
        assert!(text.contains("| 0.900 (0.800 to 1.00) |"), "{text}");
        assert!(text.contains("over all 1 benchmarks: median 0.900."), "{text}");
        let first = text.lines().position(|line| line.contains("TCP flow")).unwrap();
        assert!(first < text.lines().position(|line| line.contains("| a, ns |")).unwrap());
    }

    #[test]
    fn nothing_kept_makes_no_table() {
        let directory = tempfile::tempdir().unwrap();
        assert!(tables(directory.path()).unwrap().is_empty());
        assert!(tables(&directory.path().join("missing")).unwrap().is_empty());
    }
}
