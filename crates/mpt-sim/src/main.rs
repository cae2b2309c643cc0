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
use mpt_sim::experiments::{ALL, Experiment, METHODS, Setting};
use mpt_sim::report::{Report, page};
use mpt_sim::sweep;
use serde::Serialize;
use serde::de::DeserializeOwned;

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
    /// Runs every case of a plan on all cores, except those that a former run has completed
    Sweep {
        /// The plan, see docs/simulation.md
        plan: PathBuf,
        /// File for the results, one JSON object per line; by default beside the plan
        #[arg(long)]
        out: Option<PathBuf>,
        /// Run only every N-th case, beginning with the K-th (1 to N): for several machines, each with a file of its own
        #[arg(long, value_name = "K/N", value_parser = part)]
        part: Option<Part>,
    },
    /// Makes one HTML page of the results in a directory
    Report {
        /// Directory given to `run --out`
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
    /// Seed of the first run, or of the only one without --seeds
    #[arg(long)]
    seed: Option<u64>,
    /// Run only these networks of an experiment that has several, by their names
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Run only these methods of using the paths, in an experiment that has several
    #[arg(long, value_name = "METHOD", value_parser = METHODS)]
    mapping: Vec<String>,
    /// File for the course of a single run over time: comma-separated values, a row for each 100 ms
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
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
        Command::Sweep { plan, out, part } => sweep(&plan, out, part),
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
                    .with_context(|| format!("no experiment \"{name}\", see `mpt-sim list`"))
            };
            self.names.iter().map(find).collect::<Result<_>>()?
        };
        for experiment in &chosen {
            self.check(experiment)?;
        }
        let mut reports = Vec::new();
        for experiment in chosen {
            let bar = bar(experiment.name)?;
            let report = experiment.run(&Setting {
                seeds: self.seeds.or(self.seed.map(|_| 1)),
                first_seed: self.seed.unwrap_or(0),
                only: &self.only,
                methods: &self.mapping,
                trace: self.trace.is_some(),
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
            if let Some(path) = &self.trace {
                let [trace] = &report.traces[..] else {
                    bail!(
                        "--trace takes one run, this is {}: choose by --only, --mapping and --seed",
                        report.traces.len()
                    );
                };
                fs::write(path, trace).with_context(|| path.display().to_string())?;
            }
            reports.push(report);
        }
        if self.json {
            println!("{}", serde_json::to_string_pretty(&reports)?);
        }
        let misses: usize = reports.iter().map(|report| report.misses.len()).sum();
        match misses {
            0 => Ok(()),
            1 => bail!("1 demand is not met"),
            _ => bail!("{misses} demands are not met"),
        }
    }

    /// Rejects options that an experiment does not use.
    fn check(&self, experiment: &Experiment) -> Result<()> {
        let Experiment { name, parts, .. } = experiment;
        if let Some(unknown) = self.only.iter().find(|it| !parts.contains(&it.as_str())) {
            bail!("{name} has no part \"{unknown}\"; its parts: {}", parts.join(", "));
        }
        if parts.is_empty()
            && !(self.mapping.is_empty() && self.seed.is_none() && self.trace.is_none())
        {
            bail!("{name} has no parts: it takes neither --mapping nor --seed nor --trace");
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
        write(&format!("{}.svg", figure.name), &figure.file())?;
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
    let page = page("The reordering study, and the tunnel in virtual time", &reports);
    let path = directory.join("report.html");
    fs::write(&path, page).with_context(|| path.display().to_string())?;
    println!("{}", path.display());
    Ok(())
}

/// A part of the cases: every `of`-th from `first` (0 to `of` - 1) on.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: usize,
    of: usize,
}

fn part(text: &str) -> Result<Part, String> {
    let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match numbers {
        Some((k, of)) if (1..=of).contains(&k) => Ok(Part { first: k - 1, of }),
        _ => Err("write K/N, such as 1/4, K from 1 to N".into()),
    }
}

fn sweep(plan: &Path, out: Option<PathBuf>, part: Option<Part>) -> Result<()> {
    let out = out.unwrap_or_else(|| plan.with_extension("jsonl"));
    let text = fs::read_to_string(plan).with_context(|| plan.display().to_string())?;
    let told = |fault: sweep::Fault| anyhow!("{}:{fault}", plan.display());
    match sweep::Kind::of(&text).map_err(told)? {
        sweep::Kind::Study => run_all(sweep::Plan::parse(&text).map_err(told)?.cases(), &out, part),
        sweep::Kind::Tunnel => {
            run_all(sweep::TunnelPlan::parse(&text).map_err(told)?.cases(), &out, part)
        }
    }
}

fn run_all<K, J: sweep::Job>(cases: Vec<(K, J)>, out: &Path, part: Option<Part>) -> Result<()>
where
    K: Serialize + DeserializeOwned + PartialEq + Sync,
{
    let Part { first, of } = part.unwrap_or(Part { first: 0, of: 1 });
    let cases: Vec<(K, J)> = cases.into_iter().skip(first).step_by(of).collect();
    let bar = bar("sweep")?;
    bar.set_length(cases.len() as u64);
    let done =
        sweep::run(&cases, out, &|| bar.inc(1)).with_context(|| out.display().to_string())?;
    bar.finish_and_clear();
    println!("{}: {} runs, {} of them new", out.display(), cases.len(), done);
    Ok(())
}
