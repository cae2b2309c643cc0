//! The machine that measures, and the source that is measured; the processor time, memory and interface traffic that a measurement used.

pub(super) mod interfaces;
pub(super) mod usage;

use std::env::consts::ARCH;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use procfs::{CpuInfo, Current, LoadAverage, Meminfo};
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
    /// Memory in MB (10^6 bytes).
    memory: u64,
    /// Processes that wanted to run, averaged over the last minute: other work falsifies figures.
    load: String,
    /// Versions of the programs that take part.
    programs: Vec<String>,
}

/// Returns the facts of the machine. It has to be called before the measurement, whose own load is of no interest. `programs` are those that the
/// measurement runs, with the argument that shows their version.
pub(crate) fn facts(programs: &[&Path]) -> Facts {
    let memory = Meminfo::current().map_or(0, |memory| memory.mem_total / 1_000_000);
    let load = LoadAverage::current().map(|load| format!("{:.2}", load.one));
    let version = |program: &&Path| first_line(Command::new(program).arg("--version"));
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    Facts {
        date: now.split('T').next().unwrap_or_default().to_owned(),
        commit: commit(),
        kernel: first_line(Command::new("uname").arg("-srm")),
        processor: processors().1,
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        memory,
        load: load.unwrap_or_default(),
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

/// Returns the commit of the working directory's repository, if it is one.
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

/// Returns how many processors the machine has, and their model.
pub(crate) fn processors() -> (usize, String) {
    CpuInfo::current().map_or_else(|_| (1, ARCH.to_owned()), |info| model(&info))
}

/// Returns the number and model of the processors. The key differs: x86 has "model name", several ARM kernels "Model" or only numbers.
fn model(info: &CpuInfo) -> (usize, String) {
    let keys = ["model name", "Model", "Hardware", "CPU part"];
    let of_first = |key: &&str| info.cpus.first().and_then(|cpu| cpu.get(*key));
    let found = keys.iter().find_map(|key| of_first(key).or_else(|| info.fields.get(*key)));
    (info.num_cores().max(1), found.cloned().unwrap_or_else(|| ARCH.to_owned()))
}

#[cfg(test)]
mod tests {
    use procfs::FromBufRead;

    use super::*;

    #[test]
    fn processors_of_two_families() {
        let model = |text: &str| model(&CpuInfo::from_buf_read(text.as_bytes()).unwrap());
        let x86 = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel\t: 1\n\n";
        let two = format!("{x86}{}", x86.replace(": 0", ": 1"));
        assert_eq!(model(&two), (2, "Some CPU @ 2 GHz".to_owned()));
        let arm = "processor\t: 0\nBogoMIPS\t: 50\nCPU part\t: 0xd0c\n\n";
        assert_eq!(model(arm), (1, "0xd0c".to_owned()));
        let (count, model) = processors();
        assert!(count > 0 && !model.is_empty());
    }
}
