//! The simulator on the command line.
#![forbid(unsafe_code)]
// Tables on standard output are what this program is for.
#![allow(clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use mpt_sim::experiments::{ALL, Experiment, Setting};
use mpt_sim::report::{Report, draw, page};
use mpt_sim::sweep;

/// TCP, Multipath TCP and the tunnel in virtual time.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lists the experiments
    List,
    /// Runs experiments and shows their tables
    Run(Run),
    /// Runs every case of a plan, on all cores; what a former run has done is not done again
    Sweep {
        /// The plan, see docs/simulation.md
        plan: PathBuf,
        /// Where results go, one JSON object a line; beside the plan, unless told
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Makes one HTML page of the results in a directory
    Report {
        /// Where `run --out` put them
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Run {
    /// Names of experiments, or "all"
    #[arg(required = true)]
    names: Vec<String>,
    /// Seeds per case, instead of the experiment's own number
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// Prints JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Writes NAME.json and figures (SVG) into this directory
    #[arg(long)]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::List => {
            for Experiment { name, title, seeds, .. } in &ALL {
                println!("{name:<22} {title} ({seeds} seeds)");
            }
            Ok(())
        }
        Command::Run(run) => run.execute(),
        Command::Sweep { plan, out } => sweep(&plan, out),
        Command::Report { directory } => report(&directory),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mpt-sim: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Run {
    fn execute(&self) -> Result<()> {
        let all = self.names.iter().any(|name| name == "all");
        let chosen: Vec<&Experiment> = if all {
            ALL.iter().collect()
        } else {
            let find = |name: &String| {
                Experiment::find(name)
                    .with_context(|| format!("no experiment {name:?}, see `mpt-sim list`"))
            };
            self.names.iter().map(find).collect::<Result<_>>()?
        };
        let mut reports = Vec::new();
        for experiment in chosen {
            let bar = bar(experiment.name)?;
            let report = experiment.run(&Setting {
                seeds: self.seeds,
                expect: &|runs| bar.inc_length(runs),
                progress: &|| bar.inc(1),
            });
            bar.finish_and_clear();
            if !self.json {
                println!("{report}");
            }
            if let Some(directory) = &self.out {
                save(&report, directory)?;
            }
            reports.push(report);
        }
        if self.json {
            println!("{}", serde_json::to_string_pretty(&reports)?);
        }
        Ok(())
    }
}

fn bar(name: &str) -> Result<ProgressBar> {
    let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {eta}")?;
    Ok(ProgressBar::new(0).with_style(style).with_message(name.to_owned()))
}

fn save(report: &Report, directory: &Path) -> Result<()> {
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())
    };
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    write(&format!("{}.json", report.name), &serde_json::to_string_pretty(report)?)?;
    for figure in &report.figures {
        let document = draw(figure).map_err(|error| anyhow!("{}: {error}", figure.name))?;
        write(&format!("{}.svg", figure.name), &document)?;
    }
    Ok(())
}

fn report(directory: &Path) -> Result<()> {
    let mut reports = Vec::new();
    for experiment in &ALL {
        let path = directory.join(format!("{}.json", experiment.name));
        if !path.exists() {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let report: Report =
            serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        reports.push(report);
    }
    if reports.is_empty() {
        bail!("{}: no results, see `mpt-sim run --out`", directory.display());
    }
    let page = page("The reordering study, reproduced", &reports)
        .map_err(|error| anyhow!("the report: {error}"))?;
    let path = directory.join("report.html");
    fs::write(&path, page).with_context(|| path.display().to_string())?;
    println!("{}", path.display());
    Ok(())
}

fn sweep(plan: &Path, out: Option<PathBuf>) -> Result<()> {
    let out = out.unwrap_or_else(|| plan.with_extension("jsonl"));
    let text = fs::read_to_string(plan).with_context(|| plan.display().to_string())?;
    let cases =
        sweep::Plan::parse(&text).map_err(|fault| anyhow!("{}:{fault}", plan.display()))?.cases();
    let bar = bar("sweep")?;
    bar.set_length(cases.len() as u64);
    let done =
        sweep::run(&cases, &out, &|| bar.inc(1)).with_context(|| out.display().to_string())?;
    bar.finish_and_clear();
    println!("{}: {} runs, {} of them new", out.display(), cases.len(), done);
    Ok(())
}
