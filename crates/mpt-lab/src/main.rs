//! The laboratory: real daemons and real traffic in network namespaces of this machine.
//!
//! `mpt-lab demo` shows what a tunnel over two paths carries, `mpt-lab bench` measures how fast it
//! is. Everything that is made (namespaces, devices, processes, files) is removed at the end,
//! however that comes. Needs root, or a system that lets ordinary users make user namespaces and
//! open `/dev/net/tun`.
#![forbid(unsafe_code)]
// Tables on standard output are what this program is for.
#![allow(clippy::print_stdout)]

mod console;
mod emulator;
mod experiments;
mod machine;
mod manual;
mod measurements;
mod processes;
mod results;
mod topology;
mod traffic;

use std::fs::File;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};
use mpt_linux::netns;

use console::interrupt::Interrupt;
use experiments::{case, report, run};
use measurements::{bench, clients, cost, demo, failover, performance};

/// Tunnels over several paths, in network namespaces of this machine.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measures what a tunnel carries between two hosts over two paths of 100 Mbit/s
    ///
    /// Fails when that is less than 95 % of the sum that both paths carry alone.
    Demo(demo::Options),
    /// Measures how fast the tunnel is, against this machine without it
    ///
    /// Writes bench/bench.json into the target directory and fails when a figure misses its
    /// "must".
    Bench(bench::Options),
    /// Breaks paths in every way and measures how long the tunnel takes to go on without them
    ///
    /// Fails when a limit of the table is missed.
    Failover(failover::Options),
    /// Connects many clients to one daemon and measures the cost of each
    ///
    /// Fails when a limit is missed.
    Clients(clients::Options),
    /// Measures the cost of a property of the daemon: a build with it and one without, in alternation
    Cost(cost::Options),
    /// Writes the tables of a document from the results that bench, clients and cost have kept beside it
    Performance(performance::Options),
    /// Lists every experiment with the time that it takes
    List(run::ListOptions),
    /// Runs experiments and compares their figures with those of the papers
    ///
    /// Exits with 1 when a measurement gave no figure, with 130 when it was interrupted.
    Run(run::Options),
    /// Writes a new experiment file, as a copy to be edited
    New(run::NewOptions),
    /// Writes the measurements of experiments as files, for other tools such as Snakemake to run
    Plan(run::PlanOptions),
    /// Writes tables, data files and a page from the results in a directory
    Report(report::Options),
    /// Shows which figures of two directories of results differ by more than their spread
    ///
    /// Exits with 0 when nothing differs, with 1 when something does, with 2 when they cannot be
    /// compared.
    Compare(report::CompareOptions),
    /// The process that carries the packets of emulated links; the laboratory starts it
    #[command(hide = true)]
    Emulate,
    /// Measures one case of an experiment
    #[command(hide = true)]
    Case(case::Options),
    /// Writes manual pages and shell completions, for packages
    #[command(hide = true)]
    Manual(manual::Options),
}

fn main() -> ExitCode {
    match start(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mpt-lab: {error:#}");
            // The exit code is the one that shells give for a program ended by SIGINT.
            if error.is::<run::Interrupted>() {
                ExitCode::from(130)
            } else if error.is::<report::Incomparable>() {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

fn start(command: Command) -> Result<()> {
    // While the mounts are still those in which it was started: from another mount namespace the kernel gives its path without the mount point.
    let laboratory = std::env::current_exe()?;
    let reads_and_writes_only = matches!(
        command,
        Command::List(_)
            | Command::New(_)
            | Command::Plan(_)
            | Command::Report(_)
            | Command::Compare(_)
            | Command::Performance(_)
            | Command::Manual(_)
    );
    if !reads_and_writes_only {
        // This comes first, because it has to be done while there is only one thread.
        netns::become_root()?;
        check_tun()?;
    }
    let interrupt = Interrupt::install()?;
    match command {
        Command::Demo(options) => demo::run(&options, &laboratory, &interrupt),
        Command::Bench(options) => bench::run(&options, &laboratory, &interrupt),
        Command::Failover(options) => failover::run(&options, &laboratory, &interrupt),
        Command::Clients(options) => clients::run(&options, &laboratory, &interrupt),
        Command::Cost(options) => cost::run(&options, &laboratory, &interrupt),
        Command::Performance(options) => performance::run(&options),
        Command::Run(options) => run::run(&options, &laboratory, &interrupt),
        Command::List(options) => run::list(&options),
        Command::New(options) => run::new(&options),
        Command::Plan(options) => run::plan(&options),
        Command::Report(options) => report::run(&options),
        Command::Compare(options) => report::compare(&options),
        Command::Emulate => emulator::serve(),
        Command::Case(options) => case::run_command(&options, &laboratory, &interrupt),
        Command::Manual(options) => manual::write(Arguments::command(), &options),
    }
}

/// Checks for the TUN driver. The daemons' errors would say the same, but later.
fn check_tun() -> Result<()> {
    File::options().read(true).write(true).open("/dev/net/tun").map(drop).context(
        "/dev/net/tun cannot be opened: run as root, or let everybody open it \
         (chmod 0666 /dev/net/tun); where it is missing, modprobe tun",
    )
}
