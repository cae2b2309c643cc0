//! Command line of the multipath tunnel: asks the daemon over its control socket and shows the answers.
#![forbid(unsafe_code)]

mod args;
mod client;
mod events;
mod show;
mod table;
mod units;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use args::{Args, Operation, PathOperation};
use clap::Parser;
use client::{Client, Failed};
use mpt_api::{Command, PathChange, Reloaded, Reply};

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = run(&args, &mut out).and_then(|()| Ok(out.flush()?));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads our output has seen enough.
        Err(Failed::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failed) => {
            // What was printed so far stands before the error; that it cannot be printed is the lesser problem.
            let _ = out.flush();
            eprintln!("mpt: {failed}");
            ExitCode::from(failed.exit_code())
        }
    }
}

fn run(args: &Args, out: &mut impl Write) -> Result<(), Failed> {
    match &args.operation {
        Operation::Show { json, connection } => {
            let reply = Client::connect(&args.socket)?.request(Command::Show)?;
            let Reply::Snapshot(mut snapshot) = reply else {
                return Err(Failed::unexpected(&reply));
            };
            if let Some(name) = connection {
                show::only(&mut snapshot, name)?;
            }
            if *json {
                serde_json::to_writer_pretty(&mut *out, &snapshot).map_err(io::Error::from)?;
                writeln!(out)?;
            } else {
                write!(out, "{}", show::Text(&snapshot))?;
            }
            Ok(())
        }
        Operation::Path { operation } => {
            let (target, change) = match operation {
                PathOperation::Up(target) => (target, up(true)),
                PathOperation::Down(target) => (target, up(false)),
                PathOperation::Set { target, settings } => (target, args::change(settings)),
            };
            let reply = Client::connect(&args.socket)?.request(Command::SetPath {
                connection: target.connection.clone(),
                path: target.path.clone(),
                change,
            })?;
            if reply == Reply::Done { Ok(()) } else { Err(Failed::unexpected(&reply)) }
        }
        Operation::Reload => {
            let reply = Client::connect(&args.socket)?.request(Command::Reload)?;
            let Reply::Reloaded(reloaded) = reply else { return Err(Failed::unexpected(&reply)) };
            report(&reloaded, out)
        }
        Operation::Monitor { json } => {
            let mut client = Client::connect(&args.socket)?;
            let reply = client.request(Command::Monitor)?;
            if reply != Reply::Monitoring {
                return Err(Failed::unexpected(&reply));
            }
            loop {
                let event = client.event()?;
                if *json {
                    write!(out, "{}", mpt_api::to_line(&event))?;
                } else {
                    writeln!(out, "{}", events::Text(&event))?;
                }
                out.flush()?;
            }
        }
    }
}

fn up(up: bool) -> PathChange {
    PathChange { up: Some(up), ..PathChange::default() }
}

fn report(reloaded: &Reloaded, out: &mut impl Write) -> Result<(), Failed> {
    for warning in &reloaded.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    for change in &reloaded.changes {
        writeln!(out, "{change}")?;
    }
    for key in &reloaded.restart {
        writeln!(out, "{key}: changed, takes effect when mptd is started again")?;
    }
    if reloaded.changes.is_empty() && reloaded.restart.is_empty() {
        writeln!(out, "nothing has changed")?;
    }
    Ok(())
}
