//! The speed table: the speed of the tunnel on this machine, against the same machine without it.
//!
//! Every figure is the median of several rounds, in each of which TCP has several turns. What is compared is there at the same time, and is
//! measured by turns. A ratio is the median of the turns' ratios.

pub(crate) mod criterion;
mod figures;
mod measure;
mod pace;
mod repeat;
mod report;
mod search;
mod setup;
mod stages;
mod tables;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::machine;
use crate::processes::daemon;
use crate::results::record::Record;

use measure::Bench;
use pace::Pace;
use report::{Report, SAMPLES};
use stages::{GROUPS, Stage};
use tables::STORED;
pub(crate) use tables::tables;

/// Options of `mpt-lab bench`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Shorter and fewer measurements, as a quick check; not for figures to publish
    #[arg(long)]
    quick: bool,
    /// Rounds, of which the medians are taken [default: 3; 1 with --quick]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Run only the stages whose name contains this; the figures of the others are then missing
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Target directory of cargo: criterion's results are read from there, and bench.json is written there
    /// [default: the directory of this program's profile directory]
    #[arg(long, value_name = "DIRECTORY")]
    target: Option<PathBuf>,
    /// Keeps the results in this directory, for the tables of a document (`mpt-lab performance`)
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["quick", "only"])]
    store: Option<PathBuf>,
    /// The daemon to run [default: mptd beside this program]
    #[arg(long, value_name = "FILE")]
    mptd: Option<PathBuf>,
}

/// Measures, prints the table, writes `bench/bench.json`, and fails when a must is missed.
/// `laboratory`: the path of this executable.
pub(crate) fn run(options: &Options, laboratory: &Path, interrupt: &Interrupt) -> Result<()> {
    let program = daemon::program(options.mptd.clone(), laboratory)?;
    let target = target(options.target.clone(), laboratory)?;
    let pace = if options.quick { Pace::QUICK } else { Pace::FULL };
    let rounds = options.rounds.unwrap_or(if options.quick { 1 } else { 3 });
    let only = options.only.as_deref().unwrap_or("");
    let chosen = |group: &&'static [Stage]| -> Vec<&Stage> {
        group.iter().filter(|stage| stage.name.contains(only)).collect()
    };
    let groups: Vec<Vec<&Stage>> = GROUPS.iter().map(chosen).collect();

    let machine = machine::facts(&[&program, Path::new("iperf3"), Path::new("wireguard-go")]);
    let round = groups.iter().flatten().map(|stage| pace.stage(stage)).sum::<Duration>();
    let mut extent = pace.extent();
    if options.quick {
        extent += " (shortened: not for publication)";
    }
    let progress = Progress::new(round * rounds);
    let record =
        Record { command: "make bench".into(), machine, rounds, extent, ..Record::default() };
    let mut bench = Bench { program, pace, progress, interrupt, record };
    let directory = target.join("bench");
    for round in 1..=rounds {
        for group in &groups {
            bench.group(group, round)?;
            // The measurements are kept even if the rest fails.
            bench.record.store(&directory, SAMPLES)?;
        }
    }
    bench.progress.finish();
    let mut record = bench.record;
    criterion::read(&target.join("criterion"), &mut record.samples)?;

    let report = Report::new(&record);
    println!("{report}");
    report.write(&directory, &record)?;
    println!("written: {}", directory.join("bench.json").display());
    if let Some(directory) = &options.store {
        println!("written: {}", record.store(directory, STORED)?.display());
    }
    let wrong = wrong(&report.missed(), &record);
    if !wrong.is_empty() {
        bail!("{}", wrong.join("; "));
    }
    Ok(())
}

/// Returns everything for which the run fails.
fn wrong(missed: &[&str], record: &Record) -> Vec<String> {
    let mut wrong = Vec::new();
    if !missed.is_empty() {
        wrong.push(format!("missed: {}", missed.join(", ")));
    }
    if !record.failed.is_empty() {
        let failed: Vec<_> = record.failed.iter().map(ToString::to_string).collect();
        wrong.push(format!("not measured in every round: {}", failed.join("; ")));
    }
    wrong
}

/// Returns `given`, or the directory above that of this executable: `target` of `target/release/mpt-lab`.
fn target(given: Option<PathBuf>, laboratory: &Path) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given);
    }
    let directory = laboratory.parent().and_then(|profile| profile.parent());
    Ok(directory.context("this program stands in no target directory; give --target")?.to_owned())
}
