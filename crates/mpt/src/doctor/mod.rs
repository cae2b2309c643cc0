//! `mpt doctor`: looks for what keeps the tunnel from working on this host, and says what to do about it. It changes nothing; as root it makes a
//! TUN device for a moment, to see what the kernel offers.

mod clock;
mod daemon;
mod filter;
mod kernel;
mod paths;
mod ports;
mod system;

pub(crate) use filter::command_to_open;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use mpt_config::USUAL_USER;
use mpt_text::quantity;
use serde::Serialize;

use crate::args::Daemon;
use crate::client::{self, Failed};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// As it should be.
    Ok,
    /// Works, but slower or with less than there could be; or could not be looked at.
    Note,
    /// Probably not meant.
    Warning,
    /// Something does not work.
    Error,
}

/// What was found at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// What was looked at: "tun", "rp_filter", "mtu", ...
    check: &'static str,
    level: Level,
    /// What is so.
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

/// Everything that was found, in the order in which it was looked at.
#[derive(Debug, Default, Serialize)]
struct Findings {
    findings: Vec<Finding>,
}

impl Findings {
    fn ok(&mut self, check: &'static str, message: impl Into<String>) {
        let message = message.into();
        self.findings.push(Finding { check, level: Level::Ok, message, advice: None });
    }

    fn add(
        &mut self,
        level: Level,
        check: &'static str,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let (message, advice) = (message.into(), Some(advice.into()));
        self.findings.push(Finding { check, level, message, advice });
    }

    fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { check, level, message, advice } in &self.findings {
            let word = match level {
                Level::Ok => "ok",
                Level::Note => "note",
                Level::Warning => "WARNING",
                Level::Error => "ERROR",
            };
            writeln!(f, "{word:<8}{check:<11}{message}")?;
            if let Some(advice) = advice {
                writeln!(f, "{:19}-> {advice}", "")?;
            }
        }
        let (errors, warnings) = (self.count(Level::Error), self.count(Level::Warning));
        writeln!(
            f,
            "{}, {}",
            quantity::count(errors, "error"),
            quantity::count(warnings, "warning")
        )
    }
}

/// Looks at everything and prints what was found.
///
/// # Errors
///
/// When something does not work, or the output cannot be written.
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
