//! The laboratory as a user would run it.

#[allow(dead_code, reason = "not every test interrupts")]
pub(crate) mod interrupted;

use std::path::Path;
use std::process::Command;

/// `mpt-lab demo` as it is: with shorter transfers, TCP's start would count for too much.
#[allow(dead_code, reason = "not every test asks")]
pub(crate) fn demo() -> Command {
    let mut command = Command::new(laboratory());
    command.arg("demo");
    command
}

/// `mpt-lab failover` with further arguments.
#[allow(dead_code, reason = "not every test asks")]
pub(crate) fn failover(arguments: &[&str]) -> Command {
    let mut command = Command::new(laboratory());
    command.arg("failover").args(arguments);
    command
}

/// The laboratory without arguments.
#[allow(dead_code, reason = "not every test asks")]
pub(crate) fn laboratory_command() -> Command {
    Command::new(laboratory())
}

/// The executable; beside it stands the daemon.
pub(crate) fn laboratory() -> &'static Path {
    let laboratory = Path::new(env!("CARGO_BIN_EXE_mpt-lab"));
    let daemon = laboratory.with_file_name("mptd");
    assert!(daemon.is_file(), "no {}: `make test` or `cargo build -p mptd`", daemon.display());
    laboratory
}

/// Names of the network namespaces of the laboratory with that process id.
#[allow(dead_code, reason = "not every test asks")]
pub(crate) fn namespaces(pid: u32) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&format!("mpt-lab-{pid}-"))).collect()
}
