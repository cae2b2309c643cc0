//! Traffic from its preparation to its outcome.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::console::interrupt::Interrupt;
use crate::experiments::case::observation::cpu::Watched;
use crate::experiments::case::result::analysis;
use crate::experiments::case::{Series, metric};
use crate::topology::Host;

/// Longest time for connecting, exchanging results and leaving on a slow machine and over a bad network.
pub(crate) const GRACE: Duration = Duration::from_secs(30);

/// The ends of the traffic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends<'a> {
    /// The host that sends.
    pub(crate) a: &'a Host,
    /// The host that receives.
    pub(crate) b: &'a Host,
    /// Address of `a`.
    pub(crate) from: IpAddr,
    /// Address of `b`.
    pub(crate) to: IpAddr,
    /// Directory for files.
    pub(crate) directory: &'a Path,
    pub(crate) interrupt: &'a Interrupt,
}

/// The outcome of traffic.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outcome {
    /// See [`metric`].
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Values over time.
    pub(crate) series: BTreeMap<String, Series>,
    /// Deviations from what was asked for, as sentences.
    pub(crate) deviations: Vec<String>,
}

/// Traffic that runs; it ends when this is dropped.
pub(crate) trait Running {
    /// True if it is over.
    fn ended(&mut self) -> Result<bool>;

    /// Returns its processes: a processor that they use up is missing elsewhere.
    fn processes(&self) -> Vec<Watched>;

    /// Returns its outcome when it is over.
    fn outcome(self: Box<Self>, interrupt: &Interrupt) -> Result<Outcome>;

    /// True if the laboratory has to look after congestion control and retransmissions itself.
    fn is_silent_about_tcp(&self) -> bool;
}

/// Traffic that is ready to start: its server waits.
pub(crate) trait Ready {
    /// Starts it.
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>>;
}

impl Outcome {
    pub(crate) fn metric(&mut self, name: &str, value: Option<f64>) {
        // Neither is a number in JSON.
        if let Some(value) = value.filter(|value| value.is_finite()) {
            // An empty sum is -0.0.
            self.metrics.insert(name.into(), value + 0.0);
        }
    }

    pub(crate) fn series(&mut self, name: &str, unit: &str, values: Vec<f64>) {
        let step = analysis::STEP.as_secs_f64();
        self.series.insert(name.into(), Series { unit: unit.into(), step, values });
    }

    /// Adds everything that follows from the bytes that arrived in each interval of [`analysis::STEP`].
    pub(super) fn goodput(&mut self, bins: &[f64]) {
        let series = analysis::megabits(bins);
        self.metric(metric::GOODPUT_3_TO_10, analysis::seconds_3_to_10(&series));
        self.metric(metric::TRANSIENT, analysis::transient(&series));
        // If each packet is seen, the gap is known exactly.
        if !self.metrics.contains_key(metric::LONGEST_GAP) {
            self.metric(metric::LONGEST_GAP, analysis::longest_gap(&series));
        }
        self.series("goodput", "Mbit/s", series);
    }
}
