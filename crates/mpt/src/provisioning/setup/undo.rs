//! `mpt setup undo`: removes what was made, the last thing first.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::args;
use super::host::dns;
use super::host::kernel_setting;
use super::host::process::{is_zombie, start_time};
use super::step::record::{Made, Record};
use super::step::run;
use crate::client::Failed;

/// The longest time that the daemon may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// Removes, or shows, what the record names.
pub(crate) fn undo(wanted: &args::Undo, out: &mut impl Write) -> Result<(), Failed> {
    let Some(mut record) = Record::load(&wanted.place.state)? else {
        let message = "mpt has set up nothing on this host; there is nothing to undo";
        return Ok(writeln!(out, "{message}")?);
    };
    let mut left = Vec::new();
    for made in record.made.iter().rev() {
        let (what, remove) = describe(made);
        if !remove {
            writeln!(out, "{what}")?;
        } else if wanted.dry_run {
            writeln!(out, "would {what}")?;
        } else {
            match remove_made(made) {
                Ok(()) => writeln!(out, "{what}: done")?,
                Err(failed) => {
                    writeln!(out, "{what}: {failed}")?;
                    left.push(made.clone());
                }
            }
        }
    }
    if wanted.dry_run {
        return Ok(());
    }
    if let Some(active) = was_active(&record) {
        // Only now the units are what they were.
        run("systemctl", &["daemon-reload"])?;
        if active {
            run("systemctl", &["start", "mptd"])?;
            writeln!(out, "start the service again: done")?;
        }
    }
    if left.is_empty() {
        return record.remove();
    }
    left.reverse();
    let count = left.len();
    record.made = left;
    record.save()?;
    Err(Failed::File(format!("not removed: {count}; mend what is said above, and run this again")))
}

/// Returns whether the service ran before; `None` where systemd does not start it.
fn was_active(record: &Record) -> Option<bool> {
    record.made.iter().find_map(|made| match made {
        Made::Service { active, .. } => Some(*active),
        _ => None,
    })
}

/// Returns what is done about it, and whether anything is.
fn describe(made: &Made) -> (String, bool) {
    match made {
        Made::Directory(path) => {
            (format!("remove the directory {} if it is empty", path.display()), true)
        }
        Made::File { path, begins } => match is_ours(path, begins) {
            true => (format!("remove {}", path.display()), true),
            false => (format!("{} stays: it was changed by hand", path.display()), false),
        },
        Made::Key(path) => (format!("remove the key {}", path.display()), true),
        Made::Sysctl { name, before } => (format!("set {name} to {before} again"), true),
        Made::Table(table) => (format!("remove the nftables table inet {table}"), true),
        Made::Service { .. } => ("stop the service".into(), true),
        Made::Process { .. } => ("stop mptd".into(), true),
        Made::Names { .. } => ("resolve names as before".into(), true),
    }
}

/// True if a file is as it was made, apart from what the daemon has added at its end.
fn is_ours(path: &Path, begins: &str) -> bool {
    match fs::read_to_string(path) {
        Ok(text) => text.starts_with(begins),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

fn remove_made(made: &Made) -> Result<(), Failed> {
    match made {
        Made::Directory(path) => match fs::remove_dir(path) {
            Err(error)
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) =>
            {
                Err(failed(path, error))
            }
            _ => Ok(()),
        },
        Made::File { path, .. } | Made::Key(path) => match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(path, error)),
            _ => Ok(()),
        },
        Made::Sysctl { name, before } => kernel_setting::set(name, before),
        // A table that is gone already is added by the first command.
        Made::Table(table) => {
            run("nft", &[&format!("add table inet {table}; delete table inet {table}")])
        }
        Made::Service { enabled, .. } => {
            if !enabled {
                run("systemctl", &["disable", "--quiet", "mptd"])?;
            }
            run("systemctl", &["stop", "mptd"])
        }
        Made::Names { by } => dns::undo(by),
        Made::Process { pid, started } => stop(*pid, *started),
    }
}

/// Ends a process, if it is still the one that was started.
fn stop(pid: u32, started: u64) -> Result<(), Failed> {
    let runs = || start_time(pid) == Some(started) && !is_zombie(pid);
    let until = Instant::now() + ENDS_WITHIN;
    if runs() {
        let process = Pid::from_raw(i32::try_from(pid).unwrap_or_default());
        kill(process, Signal::SIGTERM)
            .map_err(|error| Failed::File(format!("process {pid}: {error}")))?;
    }
    while runs() {
        if Instant::now() >= until {
            return Err(Failed::File(format!("process {pid} does not end")));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn failed(path: &Path, error: std::io::Error) -> Failed {
    Failed::File(format!("{}: {error}", path.display()))
}
