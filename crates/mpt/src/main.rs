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
        // The reader of the output has closed it, since it has seen enough.
        Err(Failed::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failed) => {
            // The output so far is written before the error. If it cannot be written, the error is still the more important message.
            let _ = out.flush();
            // The state was printed already, with what is wrong.
            if !matches!(failed, Failed::State(_)) {
                eprintln!("mpt: {failed}");
            }
            ExitCode::from(failed.exit_code())
        }
    }
}
