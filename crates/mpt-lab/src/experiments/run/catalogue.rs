//! `mpt-lab list`.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;

use super::cases::{self, distinct};
use super::{ACCURACY, time};
use crate::emulator::accuracy;
use crate::experiments::definition::{self, Mode, Plan};

/// What is listed.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Print only the names
    #[arg(long)]
    names: bool,
    /// Number of measurements that may run at one time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: u8,
}

/// Prints every experiment with the time it takes.
pub(crate) fn list(options: &ListOptions) -> Result<()> {
    // `println!` would panic when the reader has gone.
    let mut stdout = io::stdout().lock();
    if options.names {
        for name in std::iter::once(ACCURACY).chain(definition::names()) {
            writeln!(stdout, "{name}")?;
        }
        return Ok(());
    }
    let plans = |quick| -> Result<Vec<Plan>> {
        definition::names()
            .map(|name| definition::load(name, &[], Mode { quick, repeat: None }))
            .collect()
    };
    let (full, quick) = (plans(false)?, plans(true)?);
    let time = |plans: &[Plan]| time(cases::expected(&distinct(plans), options.jobs.into()));
    let mut line = |name: &str, quick: &str, full: &str, what: &str| {
        writeln!(stdout, "{name:<30}{quick:>8}{full:>8}  {what}")
    };
    line("experiment", "quick", "full", "what")?;
    let [short, long] = [true, false].map(|quick| super::time(accuracy::expected(quick)));
    line(ACCURACY, &short, &long, "How exact emulated links are on this machine")?;
    for (full, quick) in full.iter().zip(&quick) {
        let [short, long] = [quick, full].map(|plan| time(std::slice::from_ref(plan)));
        line(&full.name, &short, &long, &format!("{} ({})", full.title, full.source))?;
    }
    writeln!(
        stdout,
        "all together, equal measurements made once: {} quick, {} full",
        time(&quick),
        time(&full)
    )?;
    Ok(())
}
