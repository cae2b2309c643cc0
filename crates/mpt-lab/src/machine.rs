//! The machine that measures, and the source that is measured.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;
use std::{fmt, fs};

use serde::{Deserialize, Serialize};

/// The day, the source and the machine of a measurement. Empty text: unknown.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// The day (UTC) on which the measurement began, such as `2026-11-22`.
    pub(crate) date: String,
    /// The commit of the working directory, with a remark when the source differs from it.
    commit: String,
    /// Operating system, release and architecture.
    kernel: String,
    processor: String,
    cores: usize,
    /// In MB (10^6 bytes).
    memory: u64,
    /// Processes that wanted to run, averaged over the last minute: other work falsifies figures.
    load: String,
    /// Versions of the programs that take part.
    programs: Vec<String>,
}

/// Asks the machine. To be called before the measurement, whose own load is of no interest. `programs`: those that the
/// measurement runs, with the argument that shows their version.
pub(crate) fn facts(programs: &[&Path]) -> Facts {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let version = |program: &&Path| first_line(Command::new(program).arg("--version"));
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    Facts {
        date: now.split('T').next().unwrap_or_default().to_owned(),
        commit: commit(),
        kernel: first_line(Command::new("uname").arg("-srm")),
        processor: processor(&read("/proc/cpuinfo")),
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        memory: memory(&read("/proc/meminfo")),
        load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        programs: programs.iter().map(version).filter(|version| !version.is_empty()).collect(),
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |text: &str| if text.is_empty() { "unknown".into() } else { text.to_owned() };
        write!(
            f,
            "{} at commit {}; {} x {}, {} MB; {}; {}; load average before it {}",
            known(&self.date),
            known(&self.commit),
            self.cores,
            known(&self.processor),
            self.memory,
            known(&self.kernel),
            known(&self.programs.join(", ")),
            known(&self.load),
        )
    }
}

/// The commit of the working directory's repository, if it is one.
fn commit() -> String {
    let git = |arguments: &[&str]| first_line(Command::new("git").args(arguments));
    let commit = git(&["rev-parse", "--short=10", "HEAD"]);
    let source = ["status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock"];
    match (commit.is_empty(), git(&source).is_empty()) {
        (true, _) | (false, true) => commit,
        (false, false) => format!("{commit} with changes"),
    }
}

fn first_line(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or_default().trim().to_owned()
}

/// The key differs: x86 has "model name", several ARM kernels "Model" or only numbers.
fn processor(cpuinfo: &str) -> String {
    let field = |key: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        })
    };
    let keys = ["model name", "Model", "Hardware", "CPU part"];
    keys.iter().find_map(|key| field(key)).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// "MemTotal:       24683904 kB"
fn memory(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024 / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_of_two_families() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: AMD EPYC\nmodel\t: 1\n"), "AMD EPYC");
        assert_eq!(processor("processor\t: 0\nBogoMIPS\t: 50\nCPU part\t: 0xd0c\n"), "0xd0c");
        assert!(!processor("").is_empty());
    }

    #[test]
    fn memory_in_mb() {
        assert_eq!(memory("MemTotal:       1000000 kB\nMemFree: 1 kB\n"), 1024);
        assert_eq!(memory(""), 0);
    }
}
