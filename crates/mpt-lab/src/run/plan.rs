//! `mpt-lab plan`: the measurements of an experiment as files, for other machinery to run (docs/experiments.md).

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::store::Store;
use super::{Choice, about, cases, distinct, plans};

/// What is planned.
#[derive(Debug, Args)]
pub(crate) struct PlanOptions {
    /// Names of experiments, files of your own, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    choice: Choice,
    /// Where the files go
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes `DIR/<experiment>/plan.json` and one `DIR/specs/<fingerprint>.json` for each measurement.
pub(crate) fn plan(options: &PlanOptions) -> Result<()> {
    let plans = plans(&options.names, &options.choice)?;
    let store = Store::create(&options.out)?;
    let specs = distinct(&plans);
    for plan in &plans {
        store.write_plan(plan)?;
    }
    for spec in &specs {
        store.write_spec(spec)?;
    }
    println!(
        "{} measurements, {} one after the other",
        specs.len(),
        about(cases::expected(&specs, 1))
    );
    Ok(())
}
