//! Results that are kept beside a document, from which its tables are made.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::document::escaped;
use crate::files::replace;
use crate::machine::Facts;
use crate::samples::Samples;

/// Everything that one command measured, and how.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The command that measures it again.
    pub(crate) command: String,
    /// The machine before the measurement.
    pub(crate) machine: Facts,
    /// The number of times everything was measured.
    pub(crate) rounds: u32,
    /// How long one measurement takes, such as `TCP for 5 s`.
    pub(crate) extent: String,
    /// The values, one per round.
    pub(crate) samples: Samples,
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

    /// The paragraph above each table: when, where, by what, and how often.
    pub(crate) fn heading(&self) -> String {
        let spread = match self.rounds {
            1 => "measured once".to_owned(),
            rounds => {
                format!("medians of {rounds} rounds, in brackets the smallest and the largest")
            }
        };
        format!(
            "Measured with `{}` on {}; {}; {spread}.\n",
            self.command,
            escaped(&self.machine.to_string()),
            escaped(&self.extent)
        )
    }
}

/// A value with the smallest and the largest of the rounds, if there are several.
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

/// Three significant digits.
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
