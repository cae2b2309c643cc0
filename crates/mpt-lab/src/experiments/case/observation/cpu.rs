//! Processor time of everything that a measurement is made of.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::experiments::case::metric;
use crate::machine::usage;
use crate::topology::End;

/// Idle part of the time below which the machine counts as saturated. A machine that has nothing left is seldom idle for 0 %: every moment in which
/// both ends wait for the same packet counts, and the kernel counts in steps of 10 ms.
const IDLE: f64 = 0.05;
/// Part of the time above which a thread limits the throughput.
const BUSY: f64 = 0.95;
/// Shortest time in seconds for which the processor time of a thread is judged: in shorter ones 10 ms more or less matter too much.
const SHORTEST: f64 = 0.5;

/// A process to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Watched {
    /// Its name in reports, such as `mptd b`.
    pub(crate) name: String,
    /// Its process id.
    pub(crate) pid: u32,
    /// The metric of its share of a processor, if it has one.
    pub(crate) metric: Option<&'static str>,
}

impl Watched {
    /// Returns a program that makes traffic. The processor time that it uses is missing elsewhere, and is no figure of its own.
    pub(crate) fn traffic(name: &str, pid: u32) -> Self {
        Self { name: name.into(), pid, metric: None }
    }

    /// Returns a daemon at one end.
    pub(crate) fn daemon(name: &str, end: End, pid: u32) -> Self {
        let metric = match end {
            End::A => metric::CPU_DAEMON_A,
            End::B => metric::CPU_DAEMON_B,
        };
        Self { name: format!("{name} {end}"), pid, metric: Some(metric) }
    }

    /// Returns what makes the links.
    pub(crate) fn emulator(pid: u32) -> Self {
        Self { name: "emulator".into(), pid, metric: Some(metric::CPU_EMULATOR) }
    }
}

/// Processor time used up to a moment.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    at: Instant,
    /// Time of all processors, idle and altogether.
    machine: usage::Machine,
    /// Processor time by name of the process and number and name of the thread.
    threads: BTreeMap<(String, u32), (String, Duration)>,
}

/// Processor time used between two moments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Used {
    /// Part of the time in which the machine's processors were idle, 0 to 1.
    pub(crate) idle: f64,
    /// Processor time of each process, per time.
    pub(crate) processes: BTreeMap<String, f64>,
    /// The busiest thread, and its processor time per time.
    pub(super) busiest: Option<(String, f64)>,
}

impl Reading {
    /// Returns what has been used so far. Processes that have ended are left out.
    pub(crate) fn take(watched: &[Watched]) -> Result<Self> {
        let mut threads = BTreeMap::new();
        for process in watched {
            for thread in usage::threads(process.pid).unwrap_or_default() {
                threads.insert((process.name.clone(), thread.id), (thread.name, thread.time));
            }
        }
        Ok(Self { at: Instant::now(), machine: usage::Machine::now()?, threads })
    }

    /// Returns how long ago it was taken.
    pub(crate) fn age(&self) -> Duration {
        self.at.elapsed()
    }

    /// Returns what was used since `before`.
    pub(crate) fn since(&self, before: &Self) -> Used {
        let seconds = self.at.duration_since(before.at).as_secs_f64().max(f64::MIN_POSITIVE);
        let mut used = Used {
            idle: self.machine.idle_since(before.machine),
            processes: BTreeMap::new(),
            busiest: None,
        };
        for (key, (name, time)) in &self.threads {
            let then = before.threads.get(key).map_or(Duration::ZERO, |(_, time)| *time);
            let share = time.saturating_sub(then).as_secs_f64() / seconds;
            *used.processes.entry(key.0.clone()).or_default() += share;
            if used.busiest.as_ref().is_none_or(|(_, most)| share > *most) {
                used.busiest = Some((format!("{} ({name})", key.0), share));
            }
        }
        if seconds < SHORTEST {
            used.busiest = None;
        }
        used
    }
}

impl Used {
    /// True if the machine, or one thread of what was measured, had nothing left to give.
    pub(crate) fn is_saturated(&self) -> bool {
        self.idle < IDLE || self.busy_thread().is_some()
    }

    /// Returns the thread that had nothing left to give.
    pub(crate) fn busy_thread(&self) -> Option<&(String, f64)> {
        self.busiest.as_ref().filter(|(_, share)| *share > BUSY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: Instant, idle: u64, total: u64, thread: u64) -> Reading {
        let thread = ("worker".to_owned(), Duration::from_millis(thread));
        let threads = BTreeMap::from([(("mptd b".to_owned(), 7), thread)]);
        Reading { at, machine: usage::Machine { idle, total }, threads }
    }

    #[test]
    fn what_was_used_is_the_difference() {
        let start = Instant::now();
        let before = reading(start, 100, 1000, 500);
        let used = reading(start + Duration::from_secs(10), 1100, 3000, 5500).since(&before);
        assert_eq!(used.idle, 0.5);
        assert_eq!(used.processes["mptd b"], 0.5);
        assert_eq!(used.busiest, Some(("mptd b (worker)".into(), 0.5)));
        assert!(!used.is_saturated());
    }

    #[test]
    fn a_busy_thread_or_machine_saturates() {
        let start = Instant::now();
        let before = reading(start, 0, 0, 0);
        let end = start + Duration::from_secs(10);
        assert!(reading(end, 1000, 2000, 9600).since(&before).is_saturated());
        assert!(!reading(end, 1000, 2000, 9400).since(&before).is_saturated());
        assert!(reading(end, 90, 2000, 0).since(&before).is_saturated());
    }

    #[test]
    fn this_machine_can_be_read() {
        let watched = [Watched::traffic("test", std::process::id())];
        let reading = Reading::take(&watched).unwrap();
        assert!(!reading.threads.is_empty() && reading.machine.total > 0);
    }
}
