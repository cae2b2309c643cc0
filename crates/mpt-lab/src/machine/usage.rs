//! Processor time and memory of processes and of the machine, read from `/proc`.

use std::time::Duration;

use anyhow::{Context, Result};
use procfs::process::Process;
use procfs::{CpuTime, CurrentSI, KernelStats};

/// Bytes of a kernel's kB.
const KIBIBYTE: u64 = 1024;

/// Returns the CPU time, user and system, of all threads of a process since it started. The kernel gives it in ticks, usually of 10 ms.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    let stat =
        process(pid)?.stat().with_context(|| format!("cannot read the CPU time of {pid}"))?;
    Ok(ticks(stat.utime + stat.stime))
}

/// A thread, and the CPU time it has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    /// Its number.
    pub(crate) id: u32,
    /// Its name.
    pub(crate) name: String,
    /// User and system time.
    pub(crate) time: Duration,
}

/// Returns the threads of a process; those that end meanwhile are left out.
pub(crate) fn threads(pid: u32) -> Result<Vec<Thread>> {
    let tasks =
        process(pid)?.tasks().with_context(|| format!("cannot read the threads of {pid}"))?;
    let thread = |stat: procfs::process::Stat| {
        let (id, time) = (u32::try_from(stat.pid).ok()?, ticks(stat.utime + stat.stime));
        Some(Thread { id, name: stat.comm, time })
    };
    Ok(tasks.filter_map(|task| task.ok()?.stat().ok()).filter_map(thread).collect())
}

/// Time of all processors together since the machine started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Time spent idle, and waiting for disks.
    pub(crate) idle: u64,
    /// Time altogether.
    pub(crate) total: u64,
}

impl Machine {
    /// Reads the times until now.
    pub(crate) fn now() -> Result<Self> {
        let stats = KernelStats::current().context("cannot read the CPU time of the machine")?;
        Ok(Self::of(&stats.total))
    }

    fn of(time: &CpuTime) -> Self {
        let idle = time.idle + time.iowait.unwrap_or(0);
        // Guests are counted in user and nice already.
        let rest = [time.irq, time.softirq, time.steal].into_iter().flatten().sum::<u64>();
        Self { idle, total: idle + time.user + time.nice + time.system + rest }
    }

    /// Returns the part of the time since `earlier` in which the processors were idle, 0 to 1; 1 where no time has passed.
    pub(crate) fn idle_since(self, earlier: Self) -> f64 {
        let total = self.total.saturating_sub(earlier.total);
        let idle = self.idle.saturating_sub(earlier.idle);
        if total == 0 { 1.0 } else { idle as f64 / total as f64 }
    }
}

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Memory resident now.
    pub(crate) resident: u64,
    /// Largest memory that was ever resident.
    pub(crate) peak: u64,
}

/// Returns the memory of a process.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let status = process(pid)?.status();
    let status = status.with_context(|| format!("cannot read the memory of process {pid}"))?;
    let bytes = |kibibytes: Option<u64>| {
        kibibytes.map(|kibibytes| kibibytes * KIBIBYTE).context("a process without memory")
    };
    Ok(Memory { resident: bytes(status.vmrss)?, peak: bytes(status.vmhwm)? })
}

fn process(pid: u32) -> Result<Process> {
    Process::new(i32::try_from(pid)?).with_context(|| format!("there is no process {pid}"))
}

fn ticks(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / procfs::ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use procfs::FromBufReadSI;

    use super::*;

    #[test]
    fn idle_time_includes_waiting_for_disks_and_guests_count_once() {
        let machine = |text: &str| {
            let stats = KernelStats::from_buf_read(text.as_bytes(), procfs::current_system_info());
            Machine::of(&stats.unwrap().total)
        };
        let rest = "\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n";
        let before = machine(&format!("cpu  10 1 20 300 40 5 6 7 8 9{rest}"));
        assert_eq!(before, Machine { idle: 340, total: 389 });
        let after = machine(&format!("cpu  110 1 20 500 40 5 6 107 8 9{rest}"));
        assert_eq!(after.idle_since(before), 0.5);
        assert_eq!(after.idle_since(after), 1.0);
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
        assert!(memory.resident > 1_000_000 && memory.peak >= memory.resident);
        // Above the largest process id that Linux gives.
        assert!(cpu_time(1 << 23).is_err());
    }
}
