//! The outcome of a run of the study.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::simulation::End;

/// Limit of simulated time of every run: ten times what 50 MB take at a tenth of one path.
pub const TIME_LIMIT: Duration = Duration::from_secs(100_000);

/// The outcome of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The reason for the end of the run.
    pub state: State,
    /// Simulated seconds.
    pub seconds: f64,
    /// Application data delivered over time, in Mbit/s.
    pub goodput: f64,
    /// Share of each path's rate that was used, data packets with headers, retransmissions too.
    pub wire: Vec<f64>,
    /// The figures that the simulator of 2011 logged; `None` in the profile `rfc`.
    pub logged: Option<Logged>,
    /// Packets that had to wait in the receiver's buffer, as a share of those delivered: OOO-R.
    pub out_of_order: f64,
    /// The most packets that waited.
    pub largest_buffer: usize,
    /// Share of arrivals after which 0, 1, ... packets waited: RBD.
    pub density: Vec<f64>,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Packets dropped by queues, there and back.
    pub queue_drops: u64,
    /// Events of the run.
    pub events: u64,
    /// Hash of the trace: equal for equal runs.
    pub trace: u64,
}

/// The log of windows over round-trip times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// "gThroughput" in Mbit/s.
    pub throughput: f64,
    /// "L-Utilization" of each subflow, as a share of its link's rate.
    pub utilisation: Vec<f64>,
}

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Everything was delivered.
    Finished,
    /// The limit of simulated time was reached.
    TimeOver,
    /// No more progress was made: a sender had given up, or no event was left.
    NoProgress,
}

impl From<End> for State {
    fn from(end: End) -> Self {
        match end {
            End::Finished => Self::Finished,
            End::TimeOver => Self::TimeOver,
            End::NoProgress => Self::NoProgress,
        }
    }
}
