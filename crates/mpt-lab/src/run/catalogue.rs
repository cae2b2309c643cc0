//! `mpt-lab list`.

use anyhow::Result;
use clap::Args;

use super::{ACCURACY, about, cases, distinct};
use crate::emulator::accuracy;
use crate::experiment::{self, Mode, Plan};
use crate::table::Table;

/// What is listed.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Only the names
    #[arg(long)]
    names: bool,
    /// How many measurements may run at one time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: u8,
}

/// Prints every experiment with the time it takes.
pub(crate) fn list(options: &ListOptions) -> Result<()> {
    if options.names {
        for name in std::iter::once(ACCURACY).chain(experiment::names()) {
            println!("{name}");
        }
        return Ok(());
    }
    let plans = |quick| -> Result<Vec<Plan>> {
        experiment::names()
            .map(|name| experiment::load(name, &[], Mode { quick, repeat: None }))
            .collect()
    };
    let (full, quick) = (plans(false)?, plans(true)?);
    let time = |plans: &[Plan]| about(cases::expected(&distinct(plans), options.jobs.into()));
    let mut table = Table::new(["experiment", "quick", "full", "what"]);
    table.row([
        ACCURACY.into(),
        about(accuracy::expected(true)),
        about(accuracy::expected(false)),
        "How exact emulated links are on this machine".into(),
    ]);
    for (full, quick) in full.iter().zip(&quick) {
        let times = [time(std::slice::from_ref(quick)), time(std::slice::from_ref(full))];
        let [quick, long] = times;
        let what = match full.source.as_str() {
            "" => full.title.clone(),
            source => format!("{} ({source})", full.title),
        };
        table.row([full.name.clone(), quick, long, what]);
    }
    print!("{table}");
    println!(
        "all together, equal measurements made once: {} quick, {} full",
        time(&quick),
        time(&full)
    );
    Ok(())
}
