//! The accuracy of the emulator on this machine: an experiment like the others, whose verdict stands in their reports.
//!
//! The hosts at both ends are measured, never the emulator's own statements. The figures and their limits are those of `docs/emulation.md`.

mod datagrams;
mod flow;
mod laboratory;
mod probe;
mod properties;
mod rig;
mod row;
mod statistics;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use mpt_text::table::Table;
use serde::{Deserialize, Serialize};

use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use laboratory::Laboratory;
use properties::{bursts, delay, jitter, loss, rate, throughput};
pub(crate) use row::Row;

/// The measured accuracy of the emulator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Accuracy {
    /// True if it was measured in a shorter time, and so less well.
    pub(crate) quick: bool,
    /// The figures.
    pub(crate) rows: Vec<Row>,
}

impl Accuracy {
    /// True if all figures are what they must be.
    pub(crate) fn passed(&self) -> bool {
        self.rows.iter().all(|row| row.pass)
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::ruled(["figure", "must", "measured", "verdict"]);
        for row in &self.rows {
            let verdict = if row.pass { "pass" } else { "FAIL" };
            let Row { figure, must, measured, .. } = row.clone();
            table.row([figure, must, measured, verdict.into()]);
        }
        table.fmt(f)
    }
}

/// A measurement: its name, its duration (full and quick, in seconds), and the function that makes rows and counts hidden loss.
type Step = (&'static str, [u64; 2], fn(&Laboratory<'_>) -> Result<(Vec<Row>, u64)>);

const STEPS: [Step; 7] = [
    ("throughput", [38, 20], throughput::rows),
    ("rate", [25, 12], rate::rows),
    ("delay", [50, 24], delay::rows),
    ("delay with spin", [50, 24], delay::rows_with_spin),
    ("loss", [18, 18], loss::rows),
    ("jitter", [14, 9], jitter::rows),
    ("bursts", [105, 45], bursts::rows),
];

/// Returns how long [`measure`] takes.
pub(crate) fn expected(quick: bool) -> Duration {
    STEPS.iter().map(|(_, seconds, _)| Duration::from_secs(seconds[usize::from(quick)])).sum()
}

/// Measures all figures. `laboratory` is the path of this program.
///
/// # Errors
///
/// Fails when something cannot be measured at all; a figure beyond its limit is no failure.
pub(crate) fn measure(quick: bool, laboratory: &Path, interrupt: &Interrupt) -> Result<Accuracy> {
    let lab = Laboratory { executable: laboratory, interrupt, quick };
    let mut progress = Progress::new(expected(quick));
    let mut rows = Vec::new();
    let mut hidden_loss = 0;
    for (name, seconds, step) in STEPS {
        interrupt.check()?;
        progress.step(name, Duration::from_secs(seconds[usize::from(quick)]));
        let (more, hidden) = step(&lab)?;
        rows.extend(more);
        hidden_loss += hidden;
    }
    rows.push(Row::new(
        "hidden loss (interface counters)",
        "0",
        format!("{hidden_loss}"),
        hidden_loss == 0,
    ));
    Ok(Accuracy { quick, rows })
}
