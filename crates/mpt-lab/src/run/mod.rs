//! Runs experiments: says how long it will take, makes the measurements that are missing, and reports.

mod cases;
mod catalogue;
mod new;
mod plan;
mod schedule;
pub(crate) mod store;

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail, ensure};
use clap::Args;

pub(crate) use catalogue::{ListOptions, list};
pub(crate) use new::{NewOptions, new};
pub(crate) use plan::{PlanOptions, plan};

use crate::case::{self, Laboratory};
use crate::emulator::accuracy;
use crate::experiment::{self, Mode, Plan};
use crate::interrupt::Interrupt;
use crate::{daemon, report};
use cases::{Measurement, distinct};
use store::Store;

/// The experiment that is no file: how exact the links are.
pub(crate) const ACCURACY: &str = "emulator-accuracy";
/// All experiments.
const ALL: &str = "all";

/// Which experiments are run, and how.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Names of experiments (`mpt-lab list`), files of your own, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    choice: Choice,
    /// Where results go; those that are there already are not measured again [default: results/DATE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure again what was limited by the machine or the emulator, as when something else kept it busy
    #[arg(long)]
    again: bool,
    /// Fail unless every expectation is met, also of experiments that are not strict by themselves; goals are none
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,
    /// Succeed whether expectations are met or not, also of experiments that are strict by themselves
    #[arg(long)]
    lenient: bool,
    /// How many measurements may run at one time; only of links that leave the machine idle
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    jobs: u8,
    /// The daemon to run [default: mptd beside this program]
    #[arg(long, value_name = "FILE")]
    mptd: Option<PathBuf>,
    /// A directory of adapters for other tunnels, besides those that this program has
    #[arg(long, value_name = "DIR")]
    adapters: Option<PathBuf>,
}

/// What of an experiment is measured.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// Fewer values of each axis, shorter, once
    #[arg(long)]
    pub(crate) quick: bool,
    /// How often everything is measured, instead of what the experiment says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Another value of an axis, a variable or a key of the file: delay=5ms,10ms or traffic.duration=60s
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Only these rows
    #[arg(long, value_name = "ROW")]
    only_row: Vec<String>,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().into(), value.trim().into()))
}

/// The user, or whoever supervises the program, wanted it to end; what was measured until then is reported.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; the same command with the same --out goes on where it stopped")
    }
}

impl std::error::Error for Interrupted {}

impl Choice {
    /// The plan of an experiment, with only the rows that are wanted.
    pub(crate) fn plan(&self, name: &str) -> Result<Plan> {
        let mode = Mode { quick: self.quick, repeat: self.repeat };
        let mut plan = experiment::load(name, &self.set, mode)?;
        for row in &self.only_row {
            let names: Vec<_> = plan.rows.iter().map(|row| row.name.as_str()).collect();
            ensure!(
                names.contains(&row.as_str()),
                "--only-row {row}: {name} has the rows {}",
                names.join(", ")
            );
        }
        if !self.only_row.is_empty() {
            let wanted = |name: &String| self.only_row.contains(name);
            plan.rows.retain(|row| wanted(&row.name));
            plan.cases.retain(|case| wanted(&case.row));
            plan.published.retain(|published| wanted(&published.row));
            plan.expectations.retain(|e| wanted(&e.row) && e.over.iter().all(wanted));
        }
        Ok(plan)
    }
}

/// Runs experiments.
///
/// # Errors
///
/// An experiment that cannot be run, before anything is created; [`Interrupted`]; measurements that gave no figure.
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
    // Not `println!`, which panics when nobody reads any more.
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

/// Measures how exact the links are; reports have it at their top.
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

/// The plans of all experiments that are asked for.
pub(crate) fn plans(asked: &[String], choice: &Choice) -> Result<Vec<Plan>> {
    let all = |name| if name == ALL { experiment::names().collect() } else { vec![name] };
    let mut names: Vec<&str> = asked.iter().flat_map(|name| all(name.as_str())).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| *name != ACCURACY && seen.insert(*name));
    let plans = names.into_iter().map(|name| choice.plan(name)).collect::<Result<Vec<Plan>>>()?;
    let mut titles = BTreeSet::new();
    for plan in &plans {
        ensure!(
            titles.insert(&plan.name),
            "two experiments are called {}; rename a file",
            plan.name
        );
    }
    Ok(plans)
}

/// Year, month and day (UTC), for the name of a directory.
fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.split('T').next().unwrap_or("today").to_owned()
}

/// A duration for people, rounded: "52 min".
pub(crate) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5399 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_for_people() {
        let time = |seconds| time(Duration::from_secs(seconds));
        assert_eq!(time(42), "42 s");
        assert_eq!(time(3120), "52 min");
        assert_eq!(time(9000), "2.5 h");
    }

    #[test]
    fn everything_quick_takes_less_than_an_hour() {
        let mode = Mode { quick: true, repeat: None };
        let plans: Vec<Plan> =
            experiment::names().map(|name| experiment::load(name, &[], mode).unwrap()).collect();
        let total = cases::expected(&distinct(&plans), 1) + accuracy::expected(true);
        assert!(total < Duration::from_secs(59 * 60), "{}", time(total));
    }

    #[test]
    fn assignments_have_a_key() {
        assert_eq!(assignment("delay = 5ms"), Ok(("delay".into(), "5ms".into())));
        assert!(assignment("delay").is_err());
    }
}
