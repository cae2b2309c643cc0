//! The multipath tunnel daemon.
#![forbid(unsafe_code)]

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use mptd::args::{self, Args, EXIT_CONFIG, EXIT_FAILURE};
use mptd::{config, daemon};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, reload};

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
    let (filter, reload) = reload::Layer::new(filter(checked.config.daemon.log));
    let colours = std::io::stderr().is_terminal();
    let output = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    tracing_subscriber::registry().with(filter).with(output).init();
    let set_log = move |level| {
        // It fails only when there is no log any more.
        let _ = reload.reload(self::filter(level));
    };
    for warning in &checked.warnings {
        tracing::warn!("{warning}");
    }

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.map_err(daemon::Error::from).and_then(|runtime| {
        let result = runtime.block_on(daemon::run(&args.config, checked.config, set_log, || {}));
        // A resolver that does not answer holds up no end.
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mptd: {error}");
            ExitCode::from(EXIT_FAILURE)
        }
    }
}

/// What the environment (`RUST_LOG`) says, else everything from `level` up.
fn filter(level: LevelFilter) -> EnvFilter {
    EnvFilter::builder().with_default_directive(level.into()).from_env_lossy()
}
