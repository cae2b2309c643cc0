//! The effects on traffic when paths break, come back, move or are taken out of use.
//!
//! The network has two hosts, lines of 100 Mbit/s through a namespace in between that can cut carriers, lose packets and translate addresses, a
//! daemon at either end, and TCP and a metronome of numbered UDP packets through the tunnel. Every event happens many times, each time to a new
//! tunnel. Times are taken at the outer interfaces, from packets stamped by the kernel: from the event until no data packet is given to the dead path
//! any more, and until the receiver delivers without waiting for what will not come.

mod configuration;
mod event;
mod events;
mod figure;
mod network;
mod observation;
mod report;
mod rig;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use self::event::Event;
use self::events::EVENTS;
use self::report::{Report, Results};
use self::rig::Lab;
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::processes::daemon;

/// Options of `mpt-lab failover`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Three repetitions and wide limits, as a quick check; not for figures to publish
    #[arg(long)]
    quick: bool,
    /// Repetitions of every event [default: 20; 3 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Run only this event; can be repeated
    #[arg(long, value_name = "EVENT", value_parser = names())]
    only: Vec<String>,
    /// Run without a control session between the ends: carrier and administrator alone decide, and the
    /// events that only a session can notice are left out
    #[arg(long)]
    r#static: bool,
    /// Writes every value to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The daemon to run [default: mptd beside this program]
    #[arg(long, value_name = "FILE")]
    mptd: Option<PathBuf>,
}

fn names() -> clap::builder::PossibleValuesParser {
    EVENTS.iter().map(|event| event.name).collect::<Vec<_>>().into()
}

/// Carries out all events, prints the table, and fails when a limit is missed. `laboratory` is the path of this executable.
pub(crate) fn run(options: &Options, laboratory: &Path, interrupt: &Interrupt) -> Result<()> {
    let program = daemon::program(options.mptd.clone(), laboratory)?;
    let session = !options.r#static;
    let lab = Lab { program, session, interrupt };
    let repeat = options.repeat.unwrap_or(if options.quick { 3 } else { 20 });
    let wanted = |event: &&&'static Event| {
        let named = options.only.is_empty() || options.only.iter().any(|name| name == event.name);
        named && (session || !event.session)
    };
    let events: Vec<&'static Event> = EVENTS.iter().filter(wanted).copied().collect();
    if events.is_empty() {
        bail!("without a session there is nothing to see of these events");
    }

    let each = events.iter().map(|event| event.takes).sum::<Duration>();
    let mut progress = Progress::new(each * repeat);
    let mut results = Vec::new();
    for event in events {
        results.push(repeated(event, repeat, &lab, &mut progress)?);
    }
    progress.finish();

    let report = Report { quick: options.quick, session, results };
    println!("{report}");
    if let Some(file) = &options.json {
        fs::write(file, report.json()?)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let missed = report.missed();
    if !missed.is_empty() {
        bail!("missed: {}", missed.join(", "));
    }
    Ok(())
}

/// Repeats an event. A repetition that fails is reported and counted, and the others go on; an interrupt ends everything.
fn repeated(
    event: &'static Event,
    repeat: u32,
    lab: &Lab<'_>,
    progress: &mut Progress,
) -> Result<Results> {
    let values = vec![Vec::new(); event.figures.len()];
    let mut results = Results { event, values, failures: Vec::new() };
    for repetition in 0..repeat {
        let step = format!("{} ({}), {} of {repeat}", event.what, event.name, repetition + 1);
        progress.step(&step, event.takes);
        match (event.run)(lab, repetition) {
            Ok(values) => {
                for (column, value) in results.values.iter_mut().zip(values) {
                    column.push(value);
                }
            }
            Err(error) => {
                lab.interrupt.check()?;
                eprintln!("{}, repetition {}: {error:#}", event.name, repetition + 1);
                results.failures.push(format!("{error:#}"));
            }
        }
    }
    Ok(results)
}
