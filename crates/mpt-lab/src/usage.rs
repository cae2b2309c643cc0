//! What a process has used: CPU time and memory, as `/proc` tells it.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::unistd::{SysconfVar, sysconf};

/// CPU time, user and system, of all threads of a process since it started. The kernel gives it in
/// ticks, usually of 10 ms.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).with_context(|| path.clone())?;
    let ticks = parse_cpu_ticks(&stat).with_context(|| format!("cannot read {path}"))?;
    let per_second = sysconf(SysconfVar::CLK_TCK)?.context("the system has no clock tick")?;
    Ok(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Resident now.
    pub(crate) resident: u64,
    /// The most that was ever resident.
    pub(crate) peak: u64,
}

/// Memory of a process.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| path.clone())?;
    parse_memory(&status).with_context(|| format!("cannot read {path}"))
}

/// Fields 14 and 15 of proc_pid_stat(5). The second field is the name of the program, which may
/// itself hold spaces and parentheses.
fn parse_cpu_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(14 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// "VmHWM:      5432 kB"; the kernel's kB are 1024 bytes.
fn parse_memory(status: &str) -> Option<Memory> {
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    };
    Some(Memory { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_ticks_survive_any_program_name() {
        let stat = "4242 (a) b (c)) S 1 4242 4242 0 -1 4194560 100 0 0 0 17 25 0 0 20 0 1 0 99";
        assert_eq!(parse_cpu_ticks(stat), Some(42));
        assert_eq!(parse_cpu_ticks("4242 (x) S 1"), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let status =
            "Name:\tmptd\nVmPeak:\t   10000 kB\nVmHWM:\t    5432 kB\nVmRSS:\t    5000 kB\n";
        assert_eq!(parse_memory(status), Some(Memory { resident: 5_120_000, peak: 5_562_368 }));
        assert_eq!(parse_memory("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn this_process_has_used_something() {
        let pid = std::process::id();
        cpu_time(pid).unwrap();
        let memory = memory(pid).unwrap();
        assert!(memory.resident > 0 && memory.peak >= memory.resident);
    }
}
