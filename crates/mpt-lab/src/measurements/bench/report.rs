//! The report: a table for people, JSON for programs.

use std::fmt;
use std::path::Path;

use anyhow::Result;
use mpt_text::table::Table;
use serde::Serialize;

use super::figures::{FIGURES, Figure, Target};
use crate::results::files::replace;
use crate::results::record::{Record, number};

/// Name of the file with every single value. It is written anew after each stage.
pub(super) const SAMPLES: &str = "samples";

/// The figures of one run.
#[derive(Debug)]
pub(super) struct Report {
    facts: String,
    failures: Vec<String>,
    lines: Vec<(&'static Figure, Option<f64>)>,
}

/// One element of `bench.json`.
#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    /// The value; `null` if it was not measured.
    value: Option<f64>,
    unit: &'static str,
    /// The limit; `null` if the figure has no target.
    must: Option<f64>,
    goal: Option<f64>,
    /// True if the must is reached; a figure without one always passes, one that should have been
    /// measured and was not never does.
    pass: bool,
}

impl Report {
    pub(super) fn new(record: &Record) -> Self {
        let value = |figure: &Figure| figure.value.from(&record.samples);
        let lines = FIGURES.iter().map(|figure| (figure, value(figure))).collect();
        let facts =
            format!("{}; {}; medians of {} round(s)", record.machine, record.extent, record.rounds);
        Self { facts, failures: record.failures(), lines }
    }

    /// Returns the names of the figures that miss their must, or should have been measured and were
    /// not.
    pub(super) fn missed(&self) -> Vec<&'static str> {
        let missed = self.lines.iter().filter(|&&(figure, value)| !pass(figure.target, value));
        missed.map(|(figure, _)| figure.name).collect()
    }

    /// Writes `bench.json`, an array of all figures, and `samples.json`: the machine and every
    /// single measurement.
    pub(super) fn write(&self, directory: &Path, record: &Record) -> Result<()> {
        let entries: Vec<_> =
            self.lines.iter().map(|&(figure, value)| entry(figure, value)).collect();
        let json = serde_json::to_string_pretty(&entries)? + "\n";
        replace(&directory.join("bench.json"), json.as_bytes())?;
        record.store(directory, SAMPLES).map(drop)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.facts)?;
        let mut targets = Table::ruled(["figure", "value", "unit", "must", "goal", "reached"]);
        let mut others = Table::ruled(["measured", "value", "unit"]);
        for &(figure, value) in &self.lines {
            let shown = value.map_or_else(|| "not measured".into(), number);
            let (title, unit) = (figure.title.to_owned(), figure.unit.to_owned());
            match figure.target {
                Some(target) => {
                    targets.row([
                        title,
                        shown,
                        unit,
                        target.limit(target.must()),
                        target.limit(target.goal()),
                        target.word(value).into(),
                    ]);
                }
                None => others.row([title, shown, unit]),
            }
        }
        write!(f, "{targets}\n{others}")?;
        self.failures.iter().try_for_each(|line| write!(f, "\n{line}"))
    }
}

fn entry(figure: &Figure, value: Option<f64>) -> Entry {
    Entry {
        name: figure.name,
        value,
        unit: figure.unit,
        must: figure.target.map(Target::must),
        goal: figure.target.map(Target::goal),
        pass: pass(figure.target, value),
    }
}

fn pass(target: Option<Target>, value: Option<f64>) -> bool {
    match (target, value) {
        (Some(target), Some(value)) => target.reached(value, target.must()),
        (Some(_), None) => false,
        (None, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(tunnel: f64) -> Record {
        let mut record = Record::default();
        record.samples.add("veth/tcp-1/rate", 40.0);
        record.samples.add("tunnel-1-path/tcp-1/rate", tunnel);
        record
    }

    fn find(report: &Report, name: &str) -> Entry {
        let &(figure, value) = report.lines.iter().find(|(figure, _)| figure.name == name).unwrap();
        entry(figure, value)
    }

    #[test]
    fn an_entry_has_exactly_the_keys_promised() {
        let report = Report::new(&record(8.0));
        let json = serde_json::to_value(find(&report, "tcp_against_veth_tso")).unwrap();
        let expected = serde_json::json!({
            "name": "tcp_against_veth_tso", "value": 0.2, "unit": "ratio",
            "must": 0.2, "goal": 0.35, "pass": true,
        });
        assert_eq!(json, expected);
        let plain = serde_json::to_value(find(&report, "veth_tcp_1")).unwrap();
        assert!(plain["must"].is_null() && plain["pass"] == true);
    }

    #[test]
    fn a_must_that_is_missed_or_not_measured_does_not_pass() {
        let report = Report::new(&record(7.9));
        assert!(!find(&report, "tcp_against_veth_tso").pass);
        assert!(!find(&report, "memory_idle").pass);
        assert!(report.missed().contains(&"tcp_against_veth_tso"));
        assert!(report.missed().contains(&"memory_idle"));
        assert!(!report.missed().contains(&"memory_peak"), "it has no target");
    }

    #[test]
    fn files_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let record = record(8.0);
        let report = Report::new(&record);
        let below = directory.path().join("bench");
        report.write(&below, &record).unwrap();
        let text = fs::read_to_string(below.join("bench.json")).unwrap();
        let entries: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(entries.len(), FIGURES.len());
        let text = fs::read_to_string(below.join("samples.json")).unwrap();
        let details: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(details["samples"]["veth/tcp-1/rate"][0], 40.0);
    }
}
