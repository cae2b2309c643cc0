//! The steps of a set-up. Each step describes itself, notes in the record what it is about to make, and makes it.

pub(crate) mod extra;
pub(crate) mod record;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::host::kernel_setting;
use crate::client::Failed;
use crate::provisioning::keys;
use record::{Made, Record};

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Makes a directory that is missing. It belongs to root, or to the user of the daemon where there is that user.
    Directory { path: PathBuf, of_daemon: bool },
    /// Makes a key.
    Key(PathBuf),
    /// Writes a file that nobody but its owner reads; root's own, or the daemon's.
    File { path: PathBuf, text: String },
    /// Sets a setting of the kernel.
    Sysctl { name: &'static str, value: &'static str },
    /// Makes an nftables table by the rules in a file.
    Rules { table: &'static str, file: PathBuf },
}

impl Step {
    /// Returns one line that describes it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Step::Directory { path, .. } => format!("make the directory {}", path.display()),
            Step::Key(path) => format!("make a private key in {} (mode 0600)", path.display()),
            Step::File { path, .. } => format!("write {} (mode 0600)", path.display()),
            Step::Sysctl { name, value } => format!("set {name} to {value}"),
            Step::Rules { table, file } => {
                format!("make the nftables table inet {table} (nft -f {})", file.display())
            }
        }
    }

    /// Returns the description with everything that is written.
    pub(crate) fn describe_fully(&self) -> String {
        let mut text = self.describe();
        if let Step::File { text: written, .. } = self {
            let lines = written.lines().map(|line| format!("\n    {line}").trim_end().to_owned());
            text += ":";
            text.extend(lines.map(|line| if line.is_empty() { "\n".to_owned() } else { line }));
        }
        text
    }

    /// Checks, without a change, that it can be done, as far as that can be known before.
    ///
    /// # Errors
    ///
    /// A setting of the kernel that cannot be made.
    pub(crate) fn check(&self) -> Result<(), Failed> {
        match self {
            Step::Sysctl { name, value } => kernel_setting::check(name, value),
            _ => Ok(()),
        }
    }

    /// Does it.
    ///
    /// # Errors
    ///
    /// Returns what the system has against it. The changes that were made before are in the record.
    pub(crate) fn apply(&self, record: &mut Record) -> Result<(), Failed> {
        match self {
            Step::Directory { path, of_daemon } => {
                record.note(Made::Directory(path.clone()))?;
                let made = fs::DirBuilder::new().recursive(true).mode(0o750).create(path);
                made.map_err(|error| failed(path, error))?;
                if *of_daemon {
                    give_to_daemon(path).map_err(|error| failed(path, error))
                } else {
                    Ok(())
                }
            }
            Step::Key(path) => {
                record.note(Made::Key(path.clone()))?;
                keys::write(&keys::private()?, Some(path), &mut std::io::sink())
            }
            Step::File { path, text } => {
                record.note(Made::File { path: path.clone(), begins: text.clone() })?;
                write_new(path, text).map_err(|error| failed(path, error))
            }
            Step::Sysctl { name, value } => {
                let before = kernel_setting::read(name)?;
                // A setting that has the value already is not undone later.
                if before == *value {
                    return Ok(());
                }
                record.note(Made::Sysctl { name: (*name).to_owned(), before })?;
                kernel_setting::set(name, value)
            }
            Step::Rules { table, file } => {
                record.note(Made::Table((*table).to_owned()))?;
                run("nft", &["-f", &file.to_string_lossy()])
            }
        }
    }
}

/// Refuses to write where something is already.
pub(crate) fn must_be_free(path: &Path, advice: &str) -> Result<(), Failed> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(path, error)),
        Ok(_) => Err(Failed::File(format!(
            "{} is there already, and nothing that exists is overwritten; {advice}",
            path.display()
        ))),
    }
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    open.write_all(text.as_bytes())?;
    keys::give(&open, path)?;
    open.sync_all()
}

fn give_to_daemon(directory: &Path) -> std::io::Result<()> {
    let user = nix::unistd::User::from_name(mpt_config::USUAL_USER).ok().flatten();
    match user {
        Some(user) => {
            std::os::unix::fs::chown(directory, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
        }
        None => Ok(()),
    }
}

fn failed(path: &Path, error: std::io::Error) -> Failed {
    Failed::File(format!("{}: {error}", path.display()))
}

/// Runs a program of the system.
pub(super) fn run(program: &str, arguments: &[&str]) -> Result<(), Failed> {
    let shown = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failed::File(format!(
            "{program} is missing; install the package of that name (nftables has nft)"
        )),
        _ => Failed::File(format!("{shown}: {error}")),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failed::File(format!("{shown}: {said}")))
}
