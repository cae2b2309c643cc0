//! Command line of the multipath tunnel: asks a daemon, here over its control socket or elsewhere in a session, and shows the answers;
//! makes keys.
#![forbid(unsafe_code)]

mod advise;
mod client;
mod command_line;
mod doctor;
#[cfg(test)]
#[path = "../tests/example/mod.rs"]
mod example;
mod monitoring;
mod output;
mod provisioning;
mod run;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::FromArgMatches;
use client::Failed;
use command_line::args::{self, Args};
use command_line::completions;
use run::run;

fn main() -> ExitCode {
    // Before anything else, since it is not for people.
    completions::answer();
    let matches = args::command().get_matches();
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
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
            // The state was printed already, with what is wrong.
            if !matches!(failed, Failed::State(_)) {
                eprintln!("mpt: {failed}");
            }
            ExitCode::from(failed.exit_code())
        }
    }
}
