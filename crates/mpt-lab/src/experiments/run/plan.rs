//! `mpt-lab plan`: the measurements of an experiment as files, for other machinery to run (docs/experiments.md).

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::cases::{self, distinct};
use super::store::Store;
use super::{Choice, plans, time};

/// What is planned.
#[derive(Debug, Args)]
pub(crate) struct PlanOptions {
    /// Names of experiments, files of your own, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    choice: Choice,
    /// Directory for the files
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes `DIR/<experiment>/plan.json` and one `DIR/specs/<fingerprint>.json` for each measurement.
pub(crate) fn plan(options: &PlanOptions) -> Result<()> {
    let plans = plans(&options.names, &options.choice)?;
    let store = Store::create(&options.out)?;
    let measurements = distinct(&plans);
    for plan in &plans {
        store.write_plan(plan)?;
    }
    for measurement in &measurements {
        store.write_spec(&measurement.spec)?;
    }
    println!(
        "{} measurements, about {} one after the other",
        measurements.len(),
        time(cases::expected(&measurements, 1))
    );
    Ok(())
}
