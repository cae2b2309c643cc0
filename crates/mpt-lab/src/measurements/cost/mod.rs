//! The cost of one property of the daemon: a build with it and one without, in turns.
//!
//! Each pair measures both, the one that goes first alternating, so that changes on the machine meanwhile affect both. The result is the ratio within
//! a pair; its spread over the pairs says how much of it is the machine.

mod benches;
mod flow;
mod tables;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::machine;
use crate::measurements::turns::order;
use crate::processes::daemon;
use crate::results::record::Record;
use crate::results::samples::Samples;

use flow::Transfer;
use tables::SIDES;
pub(crate) use tables::tables;

/// Options of `mpt-lab cost`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Name of the property, and of the file of the results and their table
    name: String,
    /// The daemon with it
    #[arg(long, value_name = "FILE")]
    with: PathBuf,
    /// The daemon without it
    #[arg(long, value_name = "FILE")]
    without: PathBuf,
    /// Benchmarks (executables of criterion) with it; as many are needed without it
    #[arg(long, value_name = "FILE", requires = "benches_without", num_args = 1..)]
    benches_with: Vec<PathBuf>,
    /// The same benchmarks without it, in the same order
    #[arg(long, value_name = "FILE", requires = "benches_with", num_args = 1..)]
    benches_without: Vec<PathBuf>,
    /// Pairs of a transfer with each daemon
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Duration of one transfer
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Paths of the tunnel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    paths: u8,
    /// TCP flows of a transfer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=100))]
    flows: u8,
    /// Pairs of a run of all benchmarks
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    bench_pairs: u32,
    /// Keeps the results in this directory, for the tables of a document (`mpt-lab performance`)
    #[arg(long, value_name = "DIRECTORY")]
    store: Option<PathBuf>,
}

/// Measures and prints the table.
pub(crate) fn run(options: &Options, laboratory: &Path, interrupt: &Interrupt) -> Result<()> {
    let programs = [
        daemon::program(Some(options.with.clone()), laboratory)?,
        daemon::program(Some(options.without.clone()), laboratory)?,
    ];
    let benches = [&options.benches_with, &options.benches_without].map(Vec::as_slice);
    anyhow::ensure!(benches[0].len() == benches[1].len(), "as many benchmarks without as with");
    let machine = machine::facts(&[&programs[0], Path::new("iperf3")]);
    let duration = Duration::from_secs(options.seconds);
    let transfer = Transfer { duration, paths: options.paths, flows: options.flows };
    let each = duration + Duration::from_secs(1);
    let runs = if benches[0].is_empty() { 0 } else { options.bench_pairs };
    let mut progress = Progress::new(each * options.pairs * 2 + benches::DURATION * runs * 2);
    let mut samples = Samples::default();
    for pair in 0..options.pairs {
        for side in order(pair, SIDES.len()) {
            progress.step(&format!("pair {}, {}", pair + 1, SIDES[side]), each);
            flow::measure(&programs[side], SIDES[side], &transfer, &mut samples, interrupt)
                .with_context(|| format!("pair {}, {}", pair + 1, SIDES[side]))?;
        }
    }
    for pair in 0..runs {
        for side in order(pair, SIDES.len()) {
            let step = format!("benchmarks, pair {}, {}", pair + 1, SIDES[side]);
            progress.step(&step, benches::DURATION);
            benches::measure(benches[side], SIDES[side], &mut samples, interrupt).context(step)?;
        }
    }
    progress.finish();
    let mut extent = format!("{} pairs of {transfer}", options.pairs);
    if runs > 0 {
        extent += &format!("; {runs} pairs of each benchmark for {}", benches::EXTENT);
    }
    let record = Record {
        command: "make costs".into(),
        machine,
        rounds: options.pairs,
        extent,
        samples,
        ..Record::default()
    };
    println!("{}", tables::terminal(&record));
    if let Some(directory) = &options.store {
        let file = record.store(directory, &tables::stored(&options.name))?;
        println!("written: {}", file.display());
    }
    Ok(())
}
