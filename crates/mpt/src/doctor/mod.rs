//! `mpt doctor`: looks for what keeps the tunnel from working on this host, and says what to do about it. It changes nothing; as root it makes a
//! TUN device for a moment, to see what the kernel offers.

mod clock;
mod daemon;
mod filter;
mod findings;
mod kernel;
mod paths;
mod ports;
mod system;

pub(crate) use filter::{chain_that_forwards_nothing, command_to_open};

use std::io::{self, Write};
use std::path::Path;

use mpt_config::USUAL_USER;
use mpt_text::quantity;

use crate::client::{self, Failed};
use crate::command_line::args::Daemon;
use findings::{Findings, Level};

/// Looks at everything and prints what was found.
///
/// # Errors
///
/// Fails when something does not work, or the output cannot be written.
pub(crate) fn run(
    file: &Path,
    daemon: &Daemon,
    json: bool,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let mut found = Findings::default();
    let loaded = mpt_config::load(file);
    let user = loaded.as_ref().ok().and_then(|checked| checked.config.daemon.user.as_deref());
    kernel::check(user.unwrap_or(USUAL_USER), &mut found);
    let snapshot = daemon::snapshot(client::connect(daemon));
    match loaded {
        Ok(checked) => {
            let count = checked.config.connections.len();
            found.ok(
                "config",
                format!("{}: good, with {}", file.display(), quantity::count(count, "connection")),
            );
            for warning in &checked.warnings {
                found.add(Level::Warning, "config", warning.to_string(), "see `mptd --check`");
            }
            // It may be another host's.
            if daemon.remote.is_none() {
                paths::check(&checked.config, &mut found);
                ports::check(&checked.config, snapshot.is_ok(), &mut found);
                filter::check(&checked.config, &mut found);
                let answer = snapshot.as_ref().ok().map(|answer| &answer.snapshot);
                system::check(&checked.config, answer, &mut found);
            }
        }
        Err(errors) => {
            for error in &errors.0 {
                found.add(Level::Error, "config", error.to_string(), "see examples/mpt.toml");
            }
        }
    }
    daemon::check(&snapshot, &mut found);
    clock::check(daemon.remote.is_some(), &snapshot, &mut found);
    if json {
        serde_json::to_writer_pretty(&mut *out, &found).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{found}")?;
    }
    match found.count(Level::Error) {
        0 => Ok(()),
        errors => Err(Failed::Unwell(errors)),
    }
}
