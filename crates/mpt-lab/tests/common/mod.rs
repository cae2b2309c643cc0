//! The laboratory as a user would run it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// `mpt-lab demo` with short transfers over slow paths, so that a busy machine keeps up.
pub fn demo() -> Command {
    let mut command = Command::new(laboratory());
    command.args(["demo", "--seconds", "2", "--rate", "20"]);
    command
}

/// The executable; beside it stands the daemon.
pub fn laboratory() -> &'static Path {
    let laboratory = Path::new(env!("CARGO_BIN_EXE_mpt-lab"));
    let daemon = laboratory.with_file_name("mptd");
    assert!(daemon.is_file(), "no {}: `make test` or `cargo build -p mptd`", daemon.display());
    laboratory
}

/// Named network namespaces of the laboratory with that process id.
pub fn namespaces(pid: u32) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_string_lossy().contains(&format!("mpt-lab-{pid}-"))).collect()
}
