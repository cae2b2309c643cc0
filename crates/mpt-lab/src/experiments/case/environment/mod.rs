//! The environment of a measurement: the machine, the programs that it lacks, leftovers on it, and the settings of its hosts.

pub(super) mod laboratory;
pub(super) mod leftovers;
pub(super) mod missing;
pub(super) mod settings;

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use mpt_linux::realtime::Awake;

use super::{Backend, Environment};
use crate::machine;

/// Returns the environment of a measurement on this machine, without the versions of programs.
pub(crate) fn environment(backend: Backend) -> Environment {
    let version = env!("CARGO_PKG_VERSION");
    Environment {
        mpt: version.into(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().into(),
        processors: processors(Awake::keep().is_ok()),
        emulator: match backend {
            Backend::Emulator => format!("mpt-lab {version}"),
            Backend::Kernel => format!("kernel, by {}", version_of("tc", &["-V"])),
        },
        programs: BTreeMap::new(),
    }
}

/// Returns the versions of programs, which are given with the arguments that print them.
pub(super) fn versions(programs: &[(&str, &[&str])]) -> BTreeMap<String, String> {
    let programs = programs.iter().map(|(program, arguments)| {
        let name = program.rsplit('/').next().unwrap_or(program);
        (name.to_owned(), version_of(program, arguments))
    });
    programs.collect()
}

/// Returns the first line of a program's output; empty if there is none.
pub(super) fn version_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let Ok(output) = output else { return String::new() };
    // Some programs print it on standard error.
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// Returns a text such as `2 x Some Model, kept awake`.
fn processors(awake: bool) -> String {
    let (count, model) = machine::processors();
    format!("{count} x {model}{}", if awake { ", kept awake" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert_eq!(version_of("/nonexistent/program", &[]), "");
    }
}
