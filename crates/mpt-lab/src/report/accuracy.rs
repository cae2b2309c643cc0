//! Whether the emulator of links is to be believed: its own experiment, told at the top of every report.

use std::path::Path;

use anyhow::Result;
use serde::Deserialize;

use super::results::{ACCURACY, read as read_json};

/// How to get it.
pub(super) const COMMAND: &str = "mpt-lab run emulator-accuracy";

/// What the experiment found.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Accuracy {
    /// In the order of the table.
    pub(super) rows: Vec<Line>,
}

/// A figure of the emulator.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Line {
    /// What was measured.
    pub(super) figure: String,
    /// What it must reach.
    pub(super) must: String,
    /// What it reached.
    pub(super) measured: String,
    /// Whether that is enough.
    pub(super) pass: bool,
}

impl Accuracy {
    pub(super) fn missed(&self) -> usize {
        self.rows.iter().filter(|row| !row.pass).count()
    }

    /// The verdict in one sentence.
    pub(super) fn sentence(&self) -> String {
        match self.missed() {
            0 => format!(
                "The emulator is as accurate as it must be: all {} figures are kept.",
                self.rows.len()
            ),
            missed => format!(
                "The emulator misses {missed} of {} figures of its accuracy.",
                self.rows.len()
            ),
        }
    }
}

/// Reads the result of the experiment; `None` when it was not run into this directory.
pub(super) fn read(out: &Path) -> Result<Option<Accuracy>> {
    let path = out.join(ACCURACY).join("results.json");
    if path.exists() { read_json(&path).map(Some) } else { Ok(None) }
}
