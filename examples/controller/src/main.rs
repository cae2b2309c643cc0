//! `mpt-controller FILE`: see controller.toml beside this.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mpt_controller::{Config, run};
use signal_hook::consts::{SIGINT, SIGTERM};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(file), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: mpt-controller FILE; see examples/controller/controller.toml");
        return ExitCode::from(2);
    };
    // Ends in order, so that no path stays out of service without anybody watching it.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&stop)) {
            eprintln!("mpt-controller: cannot handle signals: {error}");
            return ExitCode::FAILURE;
        }
    }
    // Whoever reads this may have gone; the paths are watched all the same.
    let say = |line: &str| drop(writeln!(std::io::stdout().lock(), "{line}"));
    let outcome = Config::load(Path::new(&file)).and_then(|config| run(&config, &stop, &say));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mpt-controller: {error}");
            ExitCode::FAILURE
        }
    }
}
