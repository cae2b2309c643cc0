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

/// A thread, and the CPU time it has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    /// Its number.
    pub(crate) id: u32,
    /// Its name.
    pub(crate) name: String,
    /// User and system.
    pub(crate) time: Duration,
}

/// The threads of a process; those that end meanwhile are left out.
pub(crate) fn threads(pid: u32) -> Result<Vec<Thread>> {
    let path = format!("/proc/{pid}/task");
    let per_second = sysconf(SysconfVar::CLK_TCK)?.context("the system has no clock tick")?;
    let mut threads = Vec::new();
    for entry in fs::read_dir(&path).context(path)? {
        let path = entry?.path();
        let Ok(stat) = fs::read_to_string(path.join("stat")) else { continue };
        let id = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        let name = stat.split_once('(').zip(stat.rsplit_once(')'));
        let name = name.map(|((before, _), (until, _))| until[before.len() + 1..].to_owned());
        if let (Some(id), Some(name), Some(ticks)) = (id, name, parse_cpu_ticks(&stat)) {
            let time = Duration::from_secs_f64(ticks as f64 / per_second as f64);
            threads.push(Thread { id, name, time });
        }
    }
    Ok(threads)
}

/// Time of all processors together since the machine started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Idle, and waiting for disks.
    pub(crate) idle: u64,
    /// Altogether.
    pub(crate) total: u64,
}

/// Reads the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted
/// in user already.
pub(crate) fn machine(stat: &str) -> Option<Machine> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Option<Vec<u64>> =
        fields.split_ascii_whitespace().take(8).map(|field| field.parse().ok()).collect();
    let ticks = ticks.filter(|ticks| ticks.len() >= 5)?;
    Some(Machine { idle: ticks[3] + ticks[4], total: ticks.iter().sum() })
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
    fn idle_time_includes_waiting_for_disks() {
        let stat = "cpu  10 1 20 300 40 5 6 7 8 9\ncpu0 5 0 10 150 20 2 3 3 4 4\n";
        assert_eq!(machine(stat), Some(Machine { idle: 340, total: 389 }));
        assert_eq!(machine("cpu 1 2 3\n"), None);
    }

    #[test]
    fn threads_have_names() {
        let threads = threads(std::process::id()).unwrap();
        assert!(
            threads.iter().any(|thread| thread.id == std::process::id() && !thread.name.is_empty())
        );
    }

    #[test]
    fn this_process_has_used_something() {
        let pid = std::process::id();
        cpu_time(pid).unwrap();
        let memory = memory(pid).unwrap();
        assert!(memory.resident > 0 && memory.peak >= memory.resident);
    }
}
