//! `mpt-lab new`: an experiment to be changed.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::experiments::definition;

/// What is written.
#[derive(Debug, Args)]
pub(crate) struct NewOptions {
    /// Name of the new experiment; the file is NAME.toml
    name: String,
    /// Experiment to copy
    #[arg(long, value_name = "EXPERIMENT", default_value = "imareen2023-table1")]
    from: String,
}

/// Writes a file.
pub(crate) fn new(options: &NewOptions) -> Result<()> {
    let Some(text) = definition::text(&options.from) else {
        bail!("there is no experiment \"{}\"; `mpt-lab list` names all", options.from);
    };
    let stem = options.name.strip_suffix(".toml").unwrap_or(&options.name);
    let path = PathBuf::from(format!("{stem}.toml"));
    // An existing file is never overwritten.
    let mut file =
        File::create_new(&path).with_context(|| format!("{} cannot be made", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| path.display().to_string())?;
    println!("{0} is written; change it, then: mpt-lab run {0} --quick", path.display());
    Ok(())
}
