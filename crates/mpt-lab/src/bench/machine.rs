//! Where it was measured.

use std::path::Path;
use std::process::Command;
use std::{fmt, fs};

use serde::Serialize;

/// What somebody else needs to know to judge the figures. Empty text: unknown.
#[derive(Debug, Default, Serialize)]
pub(super) struct Facts {
    /// Operating system, release and architecture.
    kernel: String,
    processor: String,
    cores: usize,
    /// In MB (10^6 bytes).
    memory: u64,
    /// Processes that wanted to run, averaged over the last minute: other work falsifies figures.
    load: String,
    iperf3: String,
    mptd: String,
    /// How often everything was measured.
    rounds: u32,
    /// Whether the measurements were shortened.
    quick: bool,
}

/// Asks the machine.
pub(super) fn facts(mptd: &Path, quick: bool, rounds: u32) -> Facts {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    Facts {
        kernel: first_line(Command::new("uname").arg("-srm")),
        processor: processor(&read("/proc/cpuinfo")),
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        memory: memory(&read("/proc/meminfo")),
        load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        iperf3: first_line(Command::new("iperf3").arg("--version")),
        mptd: first_line(Command::new(mptd).arg("--version")),
        rounds,
        quick,
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}; {} x {}; {} MB", self.kernel, self.cores, self.processor, self.memory)?;
        writeln!(f, "{}; {}; load average {}", self.mptd, self.iperf3, self.load)?;
        let quick = if self.quick { ", shortened: not for publication" } else { "" };
        writeln!(f, "medians of {} round(s){quick}", self.rounds)
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
