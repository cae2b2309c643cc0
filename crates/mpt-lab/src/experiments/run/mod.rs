//! Runs experiments: says how long it will take, makes the measurements that are missing, and reports.

mod cases;
mod catalogue;
mod choice;
mod new;
mod plan;
mod schedule;
pub(crate) mod store;

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail, ensure};
use clap::Args;

pub(crate) use catalogue::{ListOptions, list};
pub(crate) use new::{NewOptions, new};
pub(crate) use plan::{PlanOptions, plan};

use crate::console::interrupt::Interrupt;
use crate::emulator::accuracy;
use crate::experiments::case::{self, Laboratory};
use crate::experiments::report;
use crate::processes::daemon;
use cases::{Measurement, distinct};
use choice::ALL;
pub(crate) use choice::{ACCURACY, Choice, plans, time};
use store::Store;

/// Which experiments are run, and how.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Names of experiments (`mpt-lab list`), files of your own, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    choice: Choice,
    /// Directory for the results; those that exist are not measured again [default: results/DATE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Repeat the measurements that the machine or the emulator limited, for example because another program kept it busy
    #[arg(long)]
    again: bool,
    /// Fail unless every expectation is met, also those of experiments that are not strict by themselves; goals do not count
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,
    /// Succeed whether expectations are met or not, also of experiments that are strict by themselves
    #[arg(long)]
    lenient: bool,
    /// Number of measurements that may run at one time; only for links that leave the machine idle
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    jobs: u8,
    /// The daemon to run [default: mptd beside this program]
    #[arg(long, value_name = "FILE")]
    mptd: Option<PathBuf>,
    /// Directory of adapters for other tunnels, in addition to the built-in ones
    #[arg(long, value_name = "DIR")]
    adapters: Option<PathBuf>,
}

/// The error when the user, or whoever supervises the program, wanted it to end; what was measured until then is reported.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; the same command with the same --out goes on where it stopped")
    }
}

impl std::error::Error for Interrupted {}

/// Runs experiments.
///
/// # Errors
///
/// Fails for an experiment that cannot be run, before anything is created; with [`Interrupted`]; and for measurements that gave no figure.
pub(crate) fn run(options: &Options, laboratory: &Path, interrupt: &Interrupt) -> Result<()> {
    let plans = plans(&options.names, &options.choice)?;
    let checks = options.names.iter().any(|name| name == ALL || name == ACCURACY);
    let quick = options.choice.quick;
    let all = distinct(&plans);
    let laboratory = Laboratory {
        laboratory: laboratory.to_owned(),
        mptd: daemon::program(options.mptd.clone(), laboratory)?,
        adapters: options.adapters.clone(),
    };
    let missing = case::missing(all.iter().map(|it| &it.spec), &laboratory);
    ensure!(missing.is_empty(), "this cannot be run here:\n  {}", missing.join("\n  "));

    let out = options.out.clone().unwrap_or_else(|| Path::new("results").join(today()));
    let store = Store::create(&out)?;
    for plan in &plans {
        store.write_plan(plan)?;
    }
    let total = all.len();
    let made = |it: &Measurement| {
        let result = store.measured(&it.spec.fingerprint());
        result.is_some_and(|result| !(options.again && store::limited(&result)))
    };
    let left: Vec<Measurement> = all.into_iter().filter(|it| !made(it)).collect();
    for measurement in &left {
        store.write_spec(&measurement.spec)?;
    }
    let verdict = out.join(ACCURACY).join("results.json");
    let checks = checks && !verdict.exists();
    let jobs = usize::from(options.jobs);
    let check = if checks { accuracy::expected(quick) } else { Duration::ZERO };
    eprintln!(
        "{} experiments, {total} measurements, {} of them still to be made: about {}; results go to {}",
        plans.len(),
        left.len(),
        time(cases::expected(&left, jobs) + check),
        out.display(),
    );
    if checks {
        check_emulator(quick, &verdict, &laboratory.laboratory, interrupt)?;
    }
    let failures = cases::measure(&store, &left, jobs, &laboratory, interrupt);
    // Also of what an interrupted run has.
    let reported = report::write(&out);
    if interrupt.check().is_err() {
        return Err(Interrupted.into());
    }
    let failures = failures?;
    reported?;
    // `println!` would panic when the reader has gone.
    let mut stdout = io::stdout().lock();
    let mut unmet = 0;
    for plan in plans {
        let is_strict = options.strict || (plan.strict && !options.lenient);
        let results = report::results(plan, &out)?;
        unmet += if is_strict { results.unmet() } else { 0 };
        writeln!(stdout, "{results}")?;
    }
    writeln!(stdout, "{}", out.join("report.html").display())?;
    if !failures.is_empty() {
        bail!("{} measurements gave no figure:\n  {}", failures.len(), failures.join("\n  "));
    }
    match unmet {
        0 => Ok(()),
        1 => bail!("1 expectation is not met"),
        _ => bail!("{unmet} expectations are not met"),
    }
}

/// Measures the accuracy of the links; reports have it at their top.
fn check_emulator(
    quick: bool,
    verdict: &Path,
    laboratory: &Path,
    interrupt: &Interrupt,
) -> Result<()> {
    eprintln!("{ACCURACY}: how exact the links are");
    let accuracy = accuracy::measure(quick, laboratory, interrupt);
    if interrupt.check().is_err() {
        return Err(Interrupted.into());
    }
    let accuracy = accuracy?;
    write!(io::stdout(), "{accuracy}")?;
    if !accuracy.passed() {
        eprintln!("{ACCURACY}: not all is what it must be; the report says what");
    }
    if let Some(directory) = verdict.parent() {
        std::fs::create_dir_all(directory)?;
    }
    store::write(verdict, &accuracy)
}

/// Returns year, month and day (UTC), for the name of a directory.
fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.split('T').next().unwrap_or("today").to_owned()
}
