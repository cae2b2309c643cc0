//! The throughput that the study reports: windows over round-trip times instead of delivered data.

use super::{MSS, PATHS};

/// The log that the simulator printed at each growth of a window: cwnd x MSS / estimated round-trip time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThroughputLog {
    of_subflows: [Mean; PATHS],
    of_all: Mean,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }
}

impl ThroughputLog {
    /// Logs that the window of subflow `own` grew. `subflows` has the window in packets and round-trip time in seconds of each.
    pub(super) fn grown(&mut self, own: usize, subflows: [(f64, f64); PATHS]) {
        let rates = subflows.map(|(window, rtt)| window * (MSS * 8) as f64 / rtt);
        self.of_subflows[own].add(rates[own]);
        self.of_all.add(rates.iter().sum());
    }

    /// Returns "L-Utilization" times the rate of the link: the mean of a subflow's entries, in bit/s.
    pub fn subflow(&self, path: usize) -> f64 {
        self.of_subflows[path].value()
    }

    /// Returns "gThroughput": the mean of the sums, in bit/s.
    pub fn total(&self) -> f64 {
        self.of_all.value()
    }
}
