//! The multipath tunnel daemon.
#![forbid(unsafe_code)]

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use mptd::args::{self, Args, EXIT_CONFIG, EXIT_FAILURE};
use mptd::{config, daemon};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let args = Args::parse();
    if args.check {
        let checked =
            args::check(&args, &mut std::io::stdout().lock(), &mut std::io::stderr().lock());
        return checked.unwrap_or(ExitCode::from(EXIT_FAILURE));
    }
    let checked = match config::load(&args.config) {
        Ok(checked) => checked,
        Err(errors) => {
            eprintln!("{errors}");
            return ExitCode::from(EXIT_CONFIG);
        }
    };
    let level = checked.config.daemon.log;
    let filter = EnvFilter::builder().with_default_directive(level.into()).from_env_lossy();
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .init();
    for warning in &checked.warnings {
        tracing::warn!("{warning}");
    }

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime
        .map_err(daemon::Error::from)
        .and_then(|runtime| runtime.block_on(daemon::run(&args.config, checked.config, || {})));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mptd: {error}");
            ExitCode::from(EXIT_FAILURE)
        }
    }
}
