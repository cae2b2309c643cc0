//! The result: a table for people, JSON for programs.

use std::path::Path;
use std::{fmt, fs};

use anyhow::{Context, Result};
use serde::Serialize;

use super::figures::{FIGURES, Figure, Target};
use super::machine::Facts;
use super::samples::Samples;
use crate::table::Table;

/// All figures of one run.
#[derive(Debug)]
pub(super) struct Report {
    facts: Facts,
    lines: Vec<(&'static Figure, Option<f64>)>,
}

/// One element of `bench.json`.
#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    /// `null`: not measured.
    value: Option<f64>,
    unit: &'static str,
    /// `null`: the figure has no target.
    must: Option<f64>,
    goal: Option<f64>,
    /// Whether the must is reached; a figure without one always passes, one that should have been
    /// measured and was not never does.
    pass: bool,
}

impl Report {
    pub(super) fn new(facts: Facts, samples: &Samples) -> Self {
        let lines = FIGURES.iter().map(|figure| (figure, figure.value.from(samples))).collect();
        Self { facts, lines }
    }

    /// Names of the figures that miss their must, or should have been measured and were not.
    pub(super) fn missed(&self) -> Vec<&'static str> {
        let missed = self.lines.iter().filter(|&&(figure, value)| !pass(figure.target, value));
        missed.map(|(figure, _)| figure.name).collect()
    }

    /// Writes `bench.json`, an array of all figures, and `samples.json`: the machine and every
    /// single measurement.
    pub(super) fn write(&self, directory: &Path, samples: &Samples) -> Result<()> {
        #[derive(Serialize)]
        struct Details<'a> {
            machine: &'a Facts,
            samples: &'a Samples,
        }
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let write = |file: &str, json: String| {
            let path = directory.join(file);
            fs::write(&path, json + "\n")
                .with_context(|| format!("cannot write {}", path.display()))
        };
        let entries: Vec<_> =
            self.lines.iter().map(|&(figure, value)| entry(figure, value)).collect();
        write("bench.json", serde_json::to_string_pretty(&entries)?)?;
        let details = Details { machine: &self.facts, samples };
        write("samples.json", serde_json::to_string_pretty(&details)?)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.facts)?;
        let mut targets = Table::new(["figure", "value", "unit", "must", "goal", "reached"]);
        let mut others = Table::new(["measured", "value", "unit"]);
        for &(figure, value) in &self.lines {
            let shown = value.map_or_else(|| "not measured".into(), number);
            let (title, unit) = (figure.title.to_owned(), figure.unit.to_owned());
            match figure.target {
                Some(target) => {
                    let sign = match target {
                        Target::AtLeast { .. } => ">=",
                        Target::AtMost { .. } => "<=",
                    };
                    let reached = match value {
                        Some(value) if target.reached(value, target.goal()) => "goal",
                        Some(value) if target.reached(value, target.must()) => "must",
                        Some(_) => "MISSED",
                        None => "MISSING",
                    };
                    targets.row([
                        title,
                        shown,
                        unit,
                        format!("{sign} {}", target.must()),
                        format!("{sign} {}", target.goal()),
                        reached.into(),
                    ]);
                }
                None => others.row([title, shown, unit]),
            }
        }
        write!(f, "{targets}\n{others}")
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

/// Three significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        0.0..1.0 => format!("{value:.3}"),
        1.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(tunnel: f64) -> Samples {
        let mut samples = Samples::default();
        samples.add("veth/tcp-1/rate", 40.0);
        samples.add("tunnel-1-path/tcp-1/rate", tunnel);
        samples
    }

    fn find(report: &Report, name: &str) -> Entry {
        let &(figure, value) = report.lines.iter().find(|(figure, _)| figure.name == name).unwrap();
        entry(figure, value)
    }

    #[test]
    fn an_entry_has_exactly_the_keys_promised() {
        let report = Report::new(Facts::default(), &samples(8.0));
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
        let report = Report::new(Facts::default(), &samples(7.9));
        assert!(!find(&report, "tcp_against_veth_tso").pass);
        assert!(!find(&report, "memory_idle").pass);
        assert!(report.missed().contains(&"tcp_against_veth_tso"));
        assert!(report.missed().contains(&"memory_idle"));
        assert!(!report.missed().contains(&"memory_peak"), "it has no target");
    }

    #[test]
    fn files_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let samples = samples(8.0);
        let report = Report::new(Facts::default(), &samples);
        let below = directory.path().join("bench");
        report.write(&below, &samples).unwrap();
        let text = fs::read_to_string(below.join("bench.json")).unwrap();
        let entries: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(entries.len(), FIGURES.len());
        let text = fs::read_to_string(below.join("samples.json")).unwrap();
        let details: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(details["samples"]["veth/tcp-1/rate"][0], 40.0);
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown: Vec<_> = [0.0456, 1.2345, 12.345, 123.45, 1234.5].map(number).into();
        assert_eq!(shown, ["0.046", "1.23", "12.3", "123", "1234"]);
    }
}
