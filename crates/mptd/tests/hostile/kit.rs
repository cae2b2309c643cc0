//! The programs of the kit.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;
use tempfile::TempDir;

use crate::hosts::Host;

/// The distribution's Python, which has the distribution's `cryptography`.
const PYTHON: &str = "/usr/bin/python3";
const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile");

/// A running program of the kit. It is killed when this is dropped.
pub(crate) struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    stdin: ChildStdin,
    name: &'static str,
    _directory: TempDir,
}

impl Program {
    /// Starts one in the namespace of a host. `config` becomes its file.
    pub(crate) fn start(host: &Host, name: &'static str, config: &Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.json");
        fs::write(&file, config.to_string()).unwrap();
        let mut command = host.namespace.command(PYTHON).unwrap();
        command.args(["-B", &format!("{DIRECTORY}/{name}")]).arg(file);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stdin = child.stdin.take().unwrap();
        Self { child, lines, stdin, name, _directory: directory }
    }

    /// The next thing it says; panics when it ends before, with its status.
    pub(crate) fn said(&mut self) -> Value {
        let line = self.lines.next();
        let line =
            line.unwrap_or_else(|| panic!("{} ended: {}", self.name, self.child.wait().unwrap()));
        serde_json::from_str(&line.unwrap()).unwrap()
    }

    /// Lets a program that waits between its steps take the next one.
    pub(crate) fn go_on(&mut self) {
        writeln!(self.stdin).unwrap_or_else(|error| panic!("{} does not wait: {error}", self.name));
    }

    /// Everything it says until it has ended, which has to be a good end.
    pub(crate) fn finish(mut self) -> Vec<Value> {
        let lines = self.lines.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let said = lines.collect();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{} ended with {status}; it said {said:?}", self.name);
        said
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program that needs no network to its end and gives back what it printed.
pub(crate) fn run(name: &str, argument: &str) -> String {
    let mut command = std::process::Command::new(PYTHON);
    let output = command.args(["-B", &format!("{DIRECTORY}/{name}"), argument]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Held by floods alone, and by other tests together.
static FLOODS: RwLock<()> = RwLock::new(());

/// Waits until no other test of the kit runs. Floods disturb whatever runs beside them.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    FLOODS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no flood runs. A test that sends little may run beside others like it.
pub(crate) fn without_floods() -> RwLockReadGuard<'static, ()> {
    FLOODS.read().unwrap_or_else(PoisonError::into_inner)
}
