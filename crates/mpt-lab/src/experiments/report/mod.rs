//! Reports of plans and measurements: `results.json` and CSV files of each experiment, one page over all of them, tables for documents and for the
//! terminal, and the comparison of two runs.
//!
//! Figures that were limited by this machine or by the emulator are marked, and never shown as figures of the network.

mod compare;
mod figure;
mod formats;
mod notes;
mod quantity;
mod results;
#[cfg(test)]
mod samples;
mod verdict;

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};

pub(crate) use results::{Results, results};

use crate::results::files::replace;

/// The page over all experiments of a directory.
const PAGE: &str = "report.html";

/// Options of `mpt-lab report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Directory with the results of one or more runs
    directory: PathBuf,
    /// Markdown file whose tables between `<!-- results: NAME -->` and `<!-- end -->` are replaced
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,
}

/// Options of `mpt-lab compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareOptions {
    /// Directory with the results of one run
    first: PathBuf,
    /// Directory with the results of another
    second: PathBuf,
    /// Largest difference that counts as equal, in percent: a cell measured once has no spread of its own
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    tolerance: f64,
}

/// `mpt-lab report`: writes all files from what was measured.
///
/// # Errors
///
/// Fails with the name of the file that cannot be read, understood or written.
pub(crate) fn run(options: &Options) -> Result<()> {
    let all = write_all(&options.directory)?;
    // `println!` would panic when the reader has gone.
    let mut stdout = io::stdout().lock();
    for results in &all {
        writeln!(stdout, "{results}")?;
    }
    writeln!(stdout, "{}", options.directory.join(PAGE).display())?;
    if let Some(file) = &options.docs {
        let accuracy = notes::accuracy::read(&options.directory)?;
        let filled = formats::markdown::fill(file, &all, accuracy.as_ref())?;
        writeln!(stdout, "{}: {} tables written", file.display(), filled.written.len())?;
        for name in filled.left {
            let file = file.display();
            writeln!(stdout, "{file}: \"{name}\" has no results here and stays as it was")?;
        }
    }
    Ok(())
}

/// The error when two directories cannot be compared; `compare` then ends with 2 like diff(1).
#[derive(Debug)]
pub(crate) struct Incomparable;

impl fmt::Display for Incomparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot compare")
    }
}

/// `mpt-lab compare`: shows what differs.
///
/// # Errors
///
/// Fails when something differs, and with [`Incomparable`] when there is nothing to compare.
pub(crate) fn compare(options: &CompareOptions) -> Result<()> {
    let tolerance = options.tolerance / 100.0;
    if !(tolerance.is_finite() && tolerance >= 0.0) {
        return Err(anyhow!("a tolerance is 0 % or more")).context(Incomparable);
    }
    let comparison =
        compare::compare(&options.first, &options.second, tolerance).context(Incomparable)?;
    write!(io::stdout(), "{comparison}")?;
    let different = comparison.different.len();
    ensure!(different == 0, "{} of {} figures differ", different, comparison.compared);
    Ok(())
}

/// Writes everything below `out` that is made from measurements: `results.json`, `cases.csv` and `series.csv` of each
/// experiment, and `report.html` over all of them.
///
/// # Errors
///
/// Fails with the name of the file that cannot be read, understood or written.
pub(crate) fn write(out: &Path) -> Result<()> {
    write_all(out).map(drop)
}

fn write_all(out: &Path) -> Result<Vec<Results>> {
    let all = results::load(out)?;
    let accuracy = notes::accuracy::read(out)?;
    ensure!(
        !all.is_empty() || accuracy.is_some(),
        "{}: no results of an experiment",
        out.display()
    );
    for results in &all {
        results.write(out)?;
        formats::csv_files::write(&figure::Grid::new(results), &results.directory(out))?;
    }
    let page = formats::page::page(&all, accuracy.as_ref());
    replace(&out.join(PAGE), page.into_string().as_bytes())?;
    Ok(all)
}
