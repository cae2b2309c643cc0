//! `mpt-lab case`: one measurement as a process of its own, so that a crash of one does not end a series.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::{CaseSpec, Flag, Laboratory};
use crate::console::interrupt::Interrupt;
use crate::processes::daemon;

/// Options of `mpt-lab case`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The specification, JSON
    #[arg(long, value_name = "FILE")]
    spec: PathBuf,
    /// File for the result, JSON; it is written completely or not at all
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The daemon to run [default: mptd beside this program]
    #[arg(long, value_name = "FILE")]
    mptd: Option<PathBuf>,
    /// Directory of adapters for other tunnels, in addition to the built-in ones
    #[arg(long, value_name = "DIRECTORY")]
    adapters: Option<PathBuf>,
}

/// Measures one case and writes its result. If the measurement fails, the result says why, and this is an error besides.
///
/// # Errors
///
/// Fails for an unreadable specification, missing programs, an interrupt, or a failed measurement.
pub(crate) fn run(options: &Options, laboratory: &Path, interrupt: &Interrupt) -> Result<()> {
    let text = fs::read(&options.spec)
        .with_context(|| format!("cannot read {}", options.spec.display()))?;
    let spec: CaseSpec = serde_json::from_slice(&text)
        .with_context(|| format!("{} is no specification", options.spec.display()))?;
    let laboratory = Laboratory {
        laboratory: laboratory.to_owned(),
        mptd: daemon::program(options.mptd.clone(), laboratory)?,
        adapters: options.adapters.clone(),
    };
    let missing = super::missing([&spec], &laboratory);
    if !missing.is_empty() {
        bail!("{}", missing.join("\n"));
    }
    let result = super::run(&spec, &laboratory, interrupt)?;
    let mut json = serde_json::to_vec_pretty(&result)?;
    json.push(b'\n');
    let cannot = || format!("cannot write {}", options.out.display());
    let unfinished = options.out.with_extension("unfinished");
    fs::write(&unfinished, json).with_context(cannot)?;
    fs::rename(&unfinished, &options.out).with_context(cannot)?;
    for flag in &result.flags {
        if let Flag::Failed { why } = flag {
            bail!("the measurement failed: {why}");
        }
    }
    Ok(())
}
