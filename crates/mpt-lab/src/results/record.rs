//! Results that are kept beside a document, from which its tables are made.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::machine::Facts;
use crate::results::document::escaped;
use crate::results::files::replace;
use crate::results::samples::Samples;

/// The measurements of one command, and the way in which they were made.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The command that measures it again.
    pub(crate) command: String,
    /// The machine before the measurement.
    pub(crate) machine: Facts,
    /// The number of times everything was measured.
    pub(crate) rounds: u32,
    /// Extent of one measurement, such as `TCP for 5 s`.
    pub(crate) extent: String,
    /// The values, one or more in each round.
    pub(crate) samples: Samples,
    /// The runs that failed and were made again. What the repetition measured is among the values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) repeated: Vec<Failure>,
    /// The measurements that gave no value in one of the rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<Failure>,
}

/// One failure of a measurement.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// The round, from 1.
    pub(crate) round: u32,
    /// The measurement.
    pub(crate) what: String,
    /// The error, with its causes.
    pub(crate) why: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round {}, {}: {}", self.round, self.what, self.why)
    }
}

impl Record {
    /// Writes `NAME.json` into the directory.
    pub(crate) fn store(&self, directory: &Path, name: &str) -> Result<PathBuf> {
        let file = file(directory, name);
        replace(&file, (serde_json::to_string_pretty(self)? + "\n").as_bytes())?;
        Ok(file)
    }

    /// Reads `NAME.json` of the directory; `None` when nothing is kept under this name.
    pub(crate) fn load(directory: &Path, name: &str) -> Result<Option<Self>> {
        let file = file(directory, name);
        if !file.exists() {
            return Ok(None);
        }
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let record = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
        Ok(Some(record))
    }

    /// Returns the paragraph above each table: the time, the machine, the programs and the number of rounds.
    pub(crate) fn heading(&self) -> String {
        let spread = match self.rounds {
            1 => "measured once".to_owned(),
            rounds => {
                format!("medians of {rounds} rounds, in brackets the smallest and the largest")
            }
        };
        let mut heading = format!(
            "Measured with `{}` on {}; {}; {spread}.\n",
            self.command,
            escaped(&self.machine.to_string()),
            escaped(&self.extent)
        );
        for line in self.failures() {
            heading += &format!("\n{}\n", escaped(&line));
        }
        heading
    }

    /// Returns one sentence about the runs that were repeated and one about the measurements that failed, where there are any.
    pub(crate) fn failures(&self) -> Vec<String> {
        let list = |one: &str, several: &str, failures: &[Failure]| {
            let all: Vec<_> = failures.iter().map(Failure::to_string).collect();
            let what = if all.len() == 1 { one } else { several };
            (!all.is_empty()).then(|| format!("{} {what}: {}.", all.len(), all.join("; ")))
        };
        let repeated =
            list("run failed and was repeated", "runs failed and were repeated", &self.repeated);
        let failed = list("measurement has no value", "measurements have no value", &self.failed);
        repeated.into_iter().chain(failed).collect()
    }
}

/// Returns a value with the smallest and the largest of the rounds, if there are several.
pub(crate) fn spread(value: Option<f64>, each: &[f64]) -> String {
    let Some(value) = value else { return "not measured".into() };
    let least = each.iter().copied().min_by(f64::total_cmp);
    let most = each.iter().copied().max_by(f64::total_cmp);
    match (least, most) {
        (Some(least), Some(most)) if each.len() > 1 => {
            format!("{} ({} to {})", number(value), number(least), number(most))
        }
        _ => number(value),
    }
}

/// Returns a number with three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0..1.0 => format!("{value:.3}"),
        1.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Record::load(directory.path(), "bench").unwrap().is_none());
        let mut record = Record { command: "make bench".into(), rounds: 3, ..Record::default() };
        record.samples.add("a", 1.25);
        let file = record.store(&directory.path().join("kept"), "bench").unwrap();
        assert_eq!(file, directory.path().join("kept/bench.json"));
        let read = Record::load(&directory.path().join("kept"), "bench").unwrap().unwrap();
        assert_eq!(read.samples.values("a"), [1.25]);
        assert_eq!(read.heading(), record.heading());
        fs::write(&file, "{}").unwrap();
        let error = Record::load(&directory.path().join("kept"), "bench").unwrap_err();
        assert!(format!("{error:#}").contains("bench.json"), "{error:#}");
    }

    #[test]
    fn repetitions_and_failures_are_part_of_the_results() {
        let directory = tempfile::tempdir().unwrap();
        let failure =
            |round, why: &str| Failure { round, what: "a/udp-64".into(), why: why.into() };
        let record = Record {
            repeated: vec![failure(1, "it did not end within 22 s")],
            failed: vec![failure(2, "no answer"), failure(3, "no | answer")],
            ..Record::default()
        };
        record.store(directory.path(), "bench").unwrap();
        let read = Record::load(directory.path(), "bench").unwrap().unwrap();
        assert_eq!((&read.repeated, &read.failed), (&record.repeated, &record.failed));
        let expected = [
            "1 run failed and was repeated: round 1, a/udp-64: it did not end within 22 s.",
            "2 measurements have no value: round 2, a/udp-64: no answer; round 3, a/udp-64: no | answer.",
        ];
        assert_eq!(read.failures(), expected);
        let heading = read.heading();
        assert!(heading.contains(&format!("\n\n{}\n", expected[0])), "{heading}");
        assert!(heading.contains("no \\| answer.\n"), "{heading}");
        assert!(Record::default().failures().is_empty());
    }

    #[test]
    fn a_spread_is_shown_only_where_there_is_one() {
        assert_eq!(spread(Some(2.0), &[1.0, 2.0, 30.0]), "2.00 (1.00 to 30.0)");
        assert_eq!(spread(Some(2.0), &[2.0]), "2.00");
        assert_eq!(spread(None, &[]), "not measured");
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown: Vec<_> = [0.0456, 1.2345, 12.345, 123.45, 1234.5].map(number).into();
        assert_eq!(shown, ["0.046", "1.23", "12.3", "123", "1234"]);
    }
}
