//! How much of the machine is idle.

use std::fs;

use anyhow::{Context, Result};

/// Processor time of the machine so far, in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticks {
    idle: u64,
    all: u64,
}

impl Ticks {
    pub(super) fn now() -> Result<Self> {
        let stat = fs::read_to_string("/proc/stat").context("/proc/stat")?;
        parse(&stat).context("cannot read /proc/stat")
    }

    /// Share of the machine that was idle since `earlier`, 0 to 1.
    pub(super) fn idle_since(self, earlier: Self) -> f64 {
        let all = self.all.saturating_sub(earlier.all).max(1);
        self.idle.saturating_sub(earlier.idle) as f64 / all as f64
    }
}

/// First line of proc_stat(5): user nice system idle iowait irq softirq steal, and guests that user contains already.
fn parse(stat: &str) -> Option<Ticks> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().take(8);
    let fields: Vec<u64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let idle = fields.get(3)? + fields.get(4)?;
    Some(Ticks { idle, all: fields.iter().sum() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_what_waits_for_work_or_a_disk() {
        let before = parse("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1").unwrap();
        let after = parse("cpu  200 0 200 1400 200 0 0 200 50 0\ncpu0 1").unwrap();
        assert!((after.idle_since(before) - 800.0 / 1200.0).abs() < 1e-9);
        assert!(parse("intr 1 2 3").is_none());
    }
}
