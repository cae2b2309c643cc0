//! The multipath tunnel daemon.
#![forbid(unsafe_code)]

use std::alloc::System;
use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use jiff::tz::TimeZone;
use mpt_linux::confine;
use mpt_linux::tun;
use mptd::args::{self, Args, EXIT_CONFIG, EXIT_FAILURE};
use mptd::privileges::{self, Identity, Purpose};
use mptd::{check, daemon, logging, service};
use zeroizing_alloc::ZeroAlloc;

/// Overwrites memory that is freed: keys do not stay where a library has had a copy of them. Packets allocate nothing, so it costs them nothing.
#[global_allocator]
static MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

/// Threads that wait for a resolver at the same time; further names wait for one of them. `TasksMax=` of the unit has room for them.
const RESOLVERS: usize = 16;

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(directory) = &args.manual {
        let done = args::manual(directory, &mut std::io::stderr().lock());
        return done.unwrap_or(ExitCode::from(EXIT_FAILURE));
    }
    if args.unblock {
        let done = args::unblock(&mut std::io::stdout().lock(), &mut std::io::stderr().lock());
        return done.unwrap_or(ExitCode::from(EXIT_FAILURE));
    }
    let purpose = if args.check { Purpose::Check } else { Purpose::Run };
    // Before any other thread exists.
    let (identity, driver) = match privileges::drop(&args.config, purpose) {
        Ok(dropped) => dropped,
        Err(error) => return refused(&error),
    };
    if args.check {
        let checked =
            check::check(&args, &mut std::io::stdout().lock(), &mut std::io::stderr().lock());
        return checked.unwrap_or(ExitCode::from(EXIT_FAILURE));
    }
    let keys = RefCell::new(Vec::new());
    let read = |file: &Path| {
        keys.borrow_mut().push(file.to_owned());
        mpt_config::read_key_file(file)
    };
    let checked = match mpt_config::load_with(&args.config, &read) {
        Ok(checked) => checked,
        Err(errors) => {
            eprintln!("{errors}");
            if let Identity::Switched(user) = identity {
                eprintln!("mptd: read as user {user} (daemon.user)");
            }
            return ExitCode::from(EXIT_CONFIG);
        }
    };
    let log_format = checked.config.daemon.log_format;
    let set_log = logging::start(&checked.config.daemon);
    for warning in &checked.warnings {
        tracing::warn!("{warning}");
    }

    identity.log();
    if driver.has_helper() {
        tracing::info!("a helper process opens {}, which belongs to root alone", tun::NODE);
    }
    // Out of reach as soon as the files are confined.
    let zone = TimeZone::system();
    match privileges::confine(&args.config, &checked.config, &keys.take()) {
        Ok(confined) => confined.log(),
        Err(error) => return refused(&error),
    }

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(RESOLVERS)
        .build();
    let result = runtime.map_err(daemon::Error::from).and_then(|runtime| {
        let config = checked.config;
        let run = daemon::run(&args.config, config, driver, zone, set_log, service::ready);
        let result = runtime.block_on(run);
        // A resolver that does not answer holds up no end.
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            logging::fatal(log_format, &error);
            ExitCode::from(EXIT_FAILURE)
        }
    }
}

/// The rights of the daemon are not what the configuration asks for.
fn refused(error: &confine::Error) -> ExitCode {
    eprintln!("mptd: {error}");
    let of_configuration = matches!(error, confine::Error::NoUser(_));
    ExitCode::from(if of_configuration { EXIT_CONFIG } else { EXIT_FAILURE })
}
