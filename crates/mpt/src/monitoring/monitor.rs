//! `mpt monitor`: events as they happen, printed or given to a program.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use mpt_api::{Event, Reply};
use mpt_client::Client;

use crate::client::Failed;
use crate::command_line::args::Monitor;
use crate::output::events;

/// Prints events, or runs a program for each, until the daemon goes away.
pub(crate) fn run(
    mut client: Client,
    wanted: &Monitor,
    json: bool,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let reply = client.call(mpt_api::Command::Monitor)?;
    if reply != Reply::Monitoring {
        return Err(Failed::unexpected(&reply));
    }
    loop {
        let event = client.event()?;
        if let Some(program) = &wanted.exec {
            execute(program, &event)?;
        } else if json {
            write!(out, "{}", mpt_api::to_line(&event))?;
        } else {
            writeln!(out, "{}", events::Text(&event))?;
        }
        out.flush()?;
    }
}

/// Runs a program to its end with the event on its standard input. A program that fails is named and does not end the monitor; one that cannot
/// be run does.
fn execute(program: &Path, event: &Event) -> Result<(), Failed> {
    let failed =
        |error: io::Error| Failed::File(format!("{}: cannot be run: {error}", program.display()));
    let mut child = Command::new(program).stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // A program may end without reading: what it does with the event is its own affair.
        let _ = input.write_all(mpt_api::to_line(event).as_bytes());
    }
    let status = child.wait().map_err(failed)?;
    if !status.success() {
        eprintln!("mpt: {}: {status}", program.display());
    }
    Ok(())
}
