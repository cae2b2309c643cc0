//! Command line of the daemon.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::config::{self, DEFAULT_FILE};

/// Something failed while it ran, or it could not start.
pub const EXIT_FAILURE: u8 = 1;
/// The command line is wrong. Given by clap.
pub const EXIT_USAGE: u8 = 2;
/// The configuration file is not usable (EX_CONFIG of sysexits.h): starting again will not help.
pub const EXIT_CONFIG: u8 = 78;

/// The multipath tunnel daemon: carries IP packets between two hosts over several paths at once, as GRE in UDP (RFC 8086).
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "mptd",
    version,
    after_help = "Signals:\n  \
        SIGHUP          read the file again and apply the difference; a bad file changes nothing\n  \
        SIGTERM, SIGINT remove what was created, and end\n\n\
        Exit codes:\n  \
        0   ended by a signal, or --check found no error\n  \
        1   could not start, or failed while running\n  \
        2   the command line is wrong\n  \
        78  the configuration file has errors"
)]
pub struct Args {
    /// Configuration file (examples/mpt.toml shows every key)
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    pub config: PathBuf,

    /// Only check the file: prints every error and warning with its line, changes nothing
    #[arg(long)]
    pub check: bool,
}

/// `mptd --check`: what is wrong with the file to `errors`, the verdict to `out`.
pub fn check(
    args: &Args,
    out: &mut impl std::io::Write,
    errors: &mut impl std::io::Write,
) -> std::io::Result<ExitCode> {
    match config::load(&args.config) {
        Ok(checked) => {
            for warning in &checked.warnings {
                writeln!(errors, "warning: {warning}")?;
            }
            let count = |number: usize, noun: &str| {
                format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
            };
            let paths = checked.config.connections.iter().map(|connection| connection.paths.len());
            writeln!(
                out,
                "{}: good, with {}, {}, {}, {}",
                args.config.display(),
                count(checked.config.devices.len(), "device"),
                count(checked.config.connections.len(), "connection"),
                count(paths.sum(), "path"),
                count(checked.warnings.len(), "warning"),
            )?;
            Ok(ExitCode::SUCCESS)
        }
        Err(found) => {
            for error in &found.0 {
                writeln!(errors, "error: {error}")?;
            }
            Ok(ExitCode::from(EXIT_CONFIG))
        }
    }
}
