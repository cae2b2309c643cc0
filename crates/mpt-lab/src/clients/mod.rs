//! A concentrator with many clients: what each costs.
//!
//! One `mptd` on one UDP port; the clients are sessions of the control engine in one thread, each with a key, a session, two paths and two
//! outer addresses of its own. Every path is probed ten times a second from both ends, whether data flow or not. What a packet
//! costs is the CPU time that the daemon uses more while packets flow than while only probes do. The packets are the same with one client
//! and with all: as many flows, as many packets per second.
//!
//! Packets of one length to one client leave as batches, which the kernel handles as one packet; to a thousand clients each is a packet
//! of its own, whoever sends them ([`kernel`] measures what that costs without a daemon). So both are measured: packets of one length,
//! and packets whose lengths keep those to one client from being batches as well. The limit is for these.

mod client;
mod fleet;
mod kernel;
mod packet;
mod site;
mod stage;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use self::stage::Measured;
use crate::daemon;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::table::Table;

/// Memory of an idle client, in bytes.
const MEMORY: f64 = 100e3;
/// Cost of a packet with all clients, against that with one.
const COST: f64 = 1.2;
/// Share of the probes that have to be served.
const PROBES: f64 = 0.95;
/// In a quick run, on a machine that may be busy with anything.
const WIDE: f64 = 3.0;

/// Options of `mpt-lab clients`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Clients, of two paths each
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(2..=10_000))]
    count: u16,
    /// Packets per second of the load
    #[arg(long, value_name = "PPS", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Short measurements and wide limits, to see whether all of it works; not for figures to publish
    #[arg(long)]
    quick: bool,
    /// Writes the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The daemon to run [default: mptd beside this program]
    #[arg(long, value_name = "FILE")]
    mptd: Option<PathBuf>,
}

/// One figure with what it has to keep.
#[derive(Debug, Serialize)]
struct Figure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    limit: Option<String>,
    kept: bool,
}

/// Measures, prints the table, and fails when a limit is missed. `laboratory`: the path of this executable.
pub(crate) fn run(options: &Options, laboratory: &Path, interrupt: &Interrupt) -> Result<()> {
    let program = daemon::program(options.mptd.clone(), laboratory)?;
    let each = Duration::from_secs(if options.quick { 2 } else { 8 });
    let mut progress = Progress::new(each * 12 + Duration::from_secs(30));
    let mut stage = |count: u16| {
        progress.step(&format!("{count} clients"), each * 6 + Duration::from_secs(15));
        stage::measure(&program, count, options.rate, each, interrupt)
            .with_context(|| format!("with {count} clients"))
    };
    let one = stage(1)?;
    let all = stage(options.count)?;
    progress.finish();

    let figures = figures(&one, &all, options);
    println!("{}", table(&figures, options.count));
    if let Some(file) = &options.json {
        fs::write(file, serde_json::to_string_pretty(&figures)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let missed: Vec<_> = figures.iter().filter(|it| !it.kept).map(|it| it.name).collect();
    if !missed.is_empty() {
        bail!("missed: {}", missed.join(", "));
    }
    Ok(())
}

fn figures(one: &Measured, all: &Measured, options: &Options) -> Vec<Figure> {
    let wide = if options.quick { WIDE } else { 1.0 };
    let told = |name, value, unit| Figure { name, value, unit, limit: None, kept: true };
    let at_most = |name, value: f64, unit, limit: f64| {
        let kept = value <= limit;
        Figure { name, value, unit, limit: Some(format!("<= {limit:.1}")), kept }
    };
    let at_least = |name, value: f64, unit, limit: f64| {
        let kept = value >= limit;
        Figure { name, value, unit, limit: Some(format!(">= {limit:.0}")), kept }
    };
    let probes = f64::from(options.count) * site::PATHS as f64 * 10.0;
    let micro = |seconds: f64| seconds * 1e6;
    vec![
        told("time until all are connected", all.connected.as_secs_f64(), "s"),
        at_most("clients lost meanwhile", all.lost as f64, "", 0.0),
        at_most("memory of an idle client", all.memory / 1e3, "KB", MEMORY / 1e3),
        told("CPU while only probes flow", all.idle_cores * 100.0, "% of a core"),
        at_least("probes served per second, with data", all.probes, "", probes * PROBES / wide),
        told("cost of a packet from a client, one client", micro(one.up), "us"),
        told("cost of a packet from a client, all clients", micro(all.up), "us"),
        at_most("the second against the first", all.up / one.up, "x", COST * wide),
        told("cost of a packet to a client, one client", micro(one.down), "us"),
        told("cost of a packet to a client, all clients", micro(all.down), "us"),
        told("the second against the first, to clients", all.down / one.down, "x"),
        told("the kernel alone: a datagram of a batch to one", micro(all.kernel.batched), "us"),
        told("the kernel alone: a datagram to each in turn", micro(all.kernel.apart), "us"),
        told("the second against the first", all.kernel.apart / all.kernel.batched, "x"),
        told("to one client, lengths that no batch can have", micro(one.down_apart), "us"),
        told("to all clients, lengths that no batch can have", micro(all.down_apart), "us"),
        at_most("the second against the first", all.down_apart / one.down_apart, "x", COST * wide),
        at_most("packets lost", all.loss * 100.0, "%", 1.0 * wide),
    ]
}

fn table(figures: &[Figure], count: u16) -> Table {
    let mut table = Table::new(["", "value", "limit", ""]);
    table.row([format!("{count} clients with two paths each")]);
    for figure in figures {
        let verdict = match (&figure.limit, figure.kept) {
            (None, _) => "",
            (_, true) => "ok",
            (_, false) => "MISSED",
        };
        table.row([
            format!("  {}", figure.name),
            format!("{:.2} {}", figure.value, figure.unit).trim_end().to_owned(),
            figure.limit.clone().unwrap_or_default(),
            verdict.to_owned(),
        ]);
    }
    table
}
