//! The command line `mpt`, which cargo builds beside the daemon.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::hosts::Daemon;

/// Returns where the program is.
pub(crate) fn program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_mptd")).with_file_name("mpt");
    assert!(program.exists(), "{} is missing: cargo build -p mpt", program.display());
    program
}

/// Returns the program with its arguments, to ask this daemon.
pub(crate) fn mpt(daemon: &Daemon, arguments: &[&str]) -> Command {
    mpt_at(&daemon.socket(), arguments)
}

/// Returns the program with its arguments, to ask whatever answers on this control socket.
pub(crate) fn mpt_at(socket: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.arg("--socket").arg(socket).args(arguments).stdin(Stdio::null());
    command
}
