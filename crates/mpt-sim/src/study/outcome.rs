//! What a run gives.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::simulation::End;

/// No run is longer than this, in simulated time: ten times what 50 MB take at a tenth of one path.
pub const TIME_LIMIT: Duration = Duration::from_secs(100_000);

/// What one run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub state: State,
    /// Simulated seconds.
    pub seconds: f64,
    /// Application data delivered over time, in Mbit/s.
    pub goodput: f64,
    /// Share of each path's rate that was used, data packets with headers, retransmissions too.
    pub wire: Vec<f64>,
    /// What the simulator of 2011 logged, where it is that profile.
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
    /// Events of the run, and the hash of its trace.
    pub events: u64,
    /// Equal for equal runs.
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

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Everything was delivered.
    Finished,
    /// Simulated time was over.
    TimeOver,
    /// Nothing would have happened any more.
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
