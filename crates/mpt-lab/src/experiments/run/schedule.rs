//! The schedule of measurements: one after the other, or light ones beside each other.

use std::time::Duration;

use crate::experiments::case::{self, CaseSpec};

/// Most load at one time, in bit/s: at twice 100 Mbit/s this machine is idle most of the time and the emulator keeps its delays (see
/// docs/emulation.md). A measurement of faster links has the machine for itself.
const TOGETHER: u64 = 220_000_000;

/// The properties of a measurement that the schedule uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// The rate that its links carry together, in bit/s.
    pub(super) rate: u64,
    /// Its expected duration.
    pub(super) expected: Duration,
}

impl Load {
    pub(super) fn of(spec: &CaseSpec) -> Self {
        // Links without a limit carry as much as the machine can.
        let rate = case::forward_rate(&spec.network).unwrap_or(u64::MAX);
        Self { rate, expected: case::expected_duration(spec) }
    }
}

/// Returns the first of the waiting measurements that may start beside the running ones.
pub(super) fn next(waiting: &[Load], running: &[Load], jobs: usize) -> Option<usize> {
    if running.is_empty() {
        return (!waiting.is_empty()).then_some(0);
    }
    if running.len() >= jobs {
        return None;
    }
    let busy = running.iter().fold(0_u64, |sum, load| sum.saturating_add(load.rate));
    waiting.iter().position(|load| load.rate.saturating_add(busy) <= TOGETHER)
}

/// Returns how long all of it takes when everything takes as long as expected.
pub(super) fn total(loads: &[Load], jobs: usize) -> Duration {
    let mut waiting = loads.to_vec();
    let mut running: Vec<(Duration, Load)> = Vec::new();
    let mut now = Duration::ZERO;
    loop {
        let loads: Vec<Load> = running.iter().map(|(_, load)| *load).collect();
        if let Some(index) = next(&waiting, &loads, jobs) {
            let load = waiting.remove(index);
            running.push((now + load.expected, load));
            continue;
        }
        let first = running.iter().enumerate().min_by_key(|(_, (end, _))| *end);
        let Some((index, _)) = first else { return now };
        now = running.remove(index).0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(megabits: u64, seconds: u64) -> Load {
        Load { rate: megabits * 1_000_000, expected: Duration::from_secs(seconds) }
    }

    #[test]
    fn heavy_measurements_are_alone() {
        let waiting = [load(2000, 10), load(110, 10), load(10, 5)];
        assert_eq!(next(&waiting, &[], 2), Some(0), "the machine is free");
        assert_eq!(next(&waiting, &[load(2000, 10)], 2), None);
        assert_eq!(next(&waiting, &[load(110, 10)], 2), Some(1), "220 together");
        assert_eq!(next(&waiting, &[load(200, 10)], 2), Some(2));
        assert_eq!(next(&waiting, &[load(110, 10)], 1), None);
        assert_eq!(next(&[], &[], 2), None);
        let endless = Load { rate: u64::MAX, expected: Duration::ZERO };
        assert_eq!(next(&[endless], &[load(1, 1)], 2), None);
    }

    #[test]
    fn what_runs_beside_takes_no_time() {
        let loads = [load(100, 10), load(100, 10), load(1000, 5), load(100, 10)];
        assert_eq!(total(&loads, 1), Duration::from_secs(35));
        // Two beside each other, then the light one that is left, then the heavy one alone.
        assert_eq!(total(&loads, 2), Duration::from_secs(25));
        assert_eq!(total(&[], 2), Duration::ZERO);
    }
}
