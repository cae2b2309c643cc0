//! The cost of each client of a concentrator with many.
//!
//! One `mptd` runs on one UDP port; the clients are sessions of the control engine in one thread, each with a key, a session, two paths and two outer
//! addresses of its own. Every path is probed ten times a second from both ends, whether data flow or not. The cost of a packet is the CPU time that
//! the daemon uses more while packets flow than while only probes do, just before and just after. The packets are the same with one client and with
//! all: as many flows, as many packets per second.
//!
//! Packets of one length to one client leave as batches, which the kernel handles as one packet; to a thousand clients each is a packet of its own
//! ([`kernel`] measures what that costs without a daemon). So both are measured: packets of one length, and packets whose lengths keep those to one
//! client from being batches as well. The limit is for these.

mod client;
mod figures;
mod fleet;
mod full;
mod kernel;
mod numbers;
mod packet;
mod site;
mod stage;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use mpt_core::Seal;
use mpt_text::table::Table;
use serde::Serialize;

use self::figures::{CLIENTS, FIGURES, Figure, MEMORY, SEALED};
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::machine;
use crate::processes::daemon;
use crate::results::record::{Record, spread};
use crate::results::samples::Samples;

use tables::STORED;
pub(crate) use tables::tables;

/// Options of `mpt-lab clients`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Clients, of two paths each
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(2..=10_000))]
    count: u16,
    /// Packets per second of the load
    #[arg(long, value_name = "PPS", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Short measurements and wide limits, as a quick check; not for figures to publish
    #[arg(long)]
    quick: bool,
    /// Rounds, of which the medians are taken
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Keeps the results in this directory, for the tables of a document (`mpt-lab performance`)
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "quick")]
    store: Option<PathBuf>,
    /// Writes the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The daemon to run [default: mptd beside this program]
    #[arg(long, value_name = "FILE")]
    mptd: Option<PathBuf>,
}

/// One figure with its limit.
#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    value: Option<f64>,
    unit: &'static str,
    limit: Option<String>,
    kept: bool,
}

/// Measures, prints the table, and fails when a limit is missed. `laboratory`: the path of this executable.
pub(crate) fn run(options: &Options, laboratory: &Path, interrupt: &Interrupt) -> Result<()> {
    let program = daemon::program(options.mptd.clone(), laboratory)?;
    let machine = machine::facts(&[&program]);
    let each = Duration::from_secs(if options.quick { 2 } else { 8 });
    let samples = measure(options, &program, each, interrupt)?;
    let extent = format!(
        "{} clients with two paths each, {} packets per second, each figure for {} s",
        options.count,
        options.rate,
        each.as_secs()
    );
    let rounds = options.rounds;
    let record = Record {
        command: "make clients".into(),
        machine,
        rounds,
        extent,
        samples,
        ..Record::default()
    };

    println!("{}", table(&record.samples, options));
    if let Some(directory) = &options.store {
        println!("written: {}", record.store(directory, STORED)?.display());
    }
    let entries: Vec<_> = figures().map(|it| entry(it, &record.samples, options.quick)).collect();
    if let Some(file) = &options.json {
        fs::write(file, serde_json::to_string_pretty(&entries)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let missed: Vec<_> = entries.iter().filter(|it| !it.kept).map(|it| it.name).collect();
    if !missed.is_empty() {
        bail!("missed: {}", missed.join(", "));
    }
    Ok(())
}

fn measure(
    options: &Options,
    program: &Path,
    each: Duration,
    interrupt: &Interrupt,
) -> Result<Samples> {
    // About what sending bursts to all and filling all buffers takes.
    let full = Duration::from_secs(35);
    let stage = each * 8 + Duration::from_secs(25);
    let mut progress = Progress::new((stage * 4 + full) * options.rounds);
    let mut samples = Samples::default();
    samples.add(CLIENTS, f64::from(options.count));
    for round in 1..=options.rounds {
        let mut stage = |count: u16, seal: Seal| {
            let what = if seal.is_wanted() { "sealed" } else { "plain" };
            progress.step(&format!("round {round}, {count} clients, {what}"), stage);
            stage::measure(program, (count, seal), options.rate, each, interrupt)
                .with_context(|| format!("with {count} clients, {what}"))
        };
        let (one, all) = (stage(1, Seal::Off)?, stage(options.count, Seal::Off)?);
        figures::add(&one, &all, &mut samples);
        let (one, all) = (stage(1, Seal::Require)?, stage(options.count, Seal::Require)?);
        figures::add_sealed(&one, &all, &mut samples);
        progress.step(&format!("round {round}, full buffers"), full);
        let full = full::measure(program, options.count, interrupt).context("full buffers")?;
        figures::add_memory(&full, &mut samples);
    }
    progress.finish();
    Ok(samples)
}

fn figures() -> impl Iterator<Item = &'static Figure> {
    FIGURES.iter().chain(SEALED).chain(MEMORY)
}

fn entry(figure: &Figure, samples: &Samples, quick: bool) -> Entry {
    let judged = figure.judge(samples, quick);
    let value = samples.median(figure.title);
    Entry { name: figure.title, value, unit: figure.unit, limit: judged.limit, kept: judged.kept }
}

fn table(samples: &Samples, options: &Options) -> Table {
    let mut table = Table::ruled(["", "value", "limit", ""]);
    table.row([format!("{} clients with two paths each", options.count)]);
    for figure in figures() {
        if MEMORY.first().is_some_and(|first| first.title == figure.title) {
            table.row(["memory of the daemon"]);
        }
        let judged = figure.judge(samples, options.quick);
        let verdict = match (&judged.limit, judged.kept) {
            (None, _) => "",
            (_, true) => "ok",
            (_, false) => "MISSED",
        };
        let value = spread(samples.median(figure.title), samples.values(figure.title));
        table.row([
            format!("  {}", figure.title),
            format!("{value} {}", figure.unit).trim_end().to_owned(),
            judged.limit.unwrap_or_default(),
            verdict.to_owned(),
        ]);
    }
    table
}
