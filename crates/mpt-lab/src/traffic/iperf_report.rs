//! The report of `iperf3 -J`, as far as both kinds of traffic by iperf3 read it.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::processes::Finished;

/// iperf3's port.
pub(crate) const PORT: u16 = 5201;

/// The report of one side, of `iperf3 -J`, versions 3.9 to 3.19.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Report {
    #[serde(default)]
    pub(crate) intervals: Vec<Interval>,
    #[serde(default)]
    pub(crate) end: End,
    error: Option<String>,
}

/// An interval of the time between two reports.
#[derive(Debug, Deserialize)]
pub(crate) struct Interval {
    #[serde(default)]
    pub(crate) streams: Vec<Stream>,
    pub(crate) sum: Sum,
}

/// A flow in an interval.
#[derive(Debug, Deserialize)]
pub(crate) struct Stream {
    /// Round-trip time in microseconds.
    pub(crate) rtt: Option<f64>,
}

/// The sums over the whole time.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct End {
    #[serde(default)]
    pub(crate) streams: Vec<EndStream>,
    pub(crate) sum: Option<Sum>,
    pub(crate) sum_sent: Option<Sum>,
    pub(crate) sum_received: Option<Sum>,
    pub(crate) sender_tcp_congestion: Option<String>,
}

/// A flow over the whole time.
#[derive(Debug, Deserialize)]
pub(crate) struct EndStream {
    pub(crate) udp: Option<Udp>,
}

/// A UDP flow over the whole time.
#[derive(Debug, Deserialize)]
pub(crate) struct Udp {
    #[serde(default)]
    pub(crate) out_of_order: u64,
}

/// The sums over all flows.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Sum {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) bytes: f64,
    pub(crate) retransmits: Option<u64>,
    pub(crate) packets: Option<u64>,
    /// Lost packets; negative where more packets came than were sent in the time.
    pub(crate) lost_packets: Option<i64>,
}

impl Report {
    /// Returns the report of a process that has ended, or its error.
    pub(crate) fn of(finished: &Finished) -> Result<Self> {
        // Usage errors come without any JSON.
        if finished.stdout.trim().is_empty() {
            bail!("{}: {}", finished.status, finished.stderr.trim());
        }
        Self::read(&finished.stdout)
    }

    /// Reads a report. Its error is the one that iperf3 tells.
    pub(crate) fn read(json: &str) -> Result<Self> {
        let report: Self = serde_json::from_str(json).context("cannot read its report")?;
        match report.error {
            Some(error) => bail!("{error}"),
            None => Ok(report),
        }
    }
}
