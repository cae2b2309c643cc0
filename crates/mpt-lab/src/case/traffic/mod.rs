//! The traffic of a measurement, from host a to host b, and what it says about itself.

mod download;
mod flows;
mod iperf;
mod ping;
mod rtp;

pub(super) use download::PYTHON;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::cpu::Watched;
use super::{Method, Series, Traffic, analysis, metric};
use crate::interrupt::Interrupt;
use crate::poll::POLL;
use crate::process::Talking;
use crate::topology::Host;
use crate::traffic::Transport;

/// What connecting, exchanging results and leaving may take on a slow machine and over a bad network.
pub(super) const GRACE: Duration = Duration::from_secs(30);
/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(10);

/// Between whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends<'a> {
    /// Sends.
    pub(super) a: &'a Host,
    /// Receives.
    pub(super) b: &'a Host,
    /// Address of `a`.
    pub(super) from: IpAddr,
    /// Address of `b`.
    pub(super) to: IpAddr,
    /// For files.
    pub(super) directory: &'a Path,
    pub(super) interrupt: &'a Interrupt,
}

/// What traffic tells when it is over.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outcome {
    /// See [`metric`].
    pub(super) metrics: BTreeMap<String, f64>,
    /// Values over time.
    pub(super) series: BTreeMap<String, Series>,
    /// What was done otherwise than asked, as sentences.
    pub(super) deviations: Vec<String>,
}

/// Traffic that runs; it ends when this is dropped.
pub(super) trait Running {
    /// Whether it is over.
    fn ended(&mut self) -> Result<bool>;

    /// Its processes: a processor that they use up is missing elsewhere.
    fn processes(&self) -> Vec<Watched>;

    /// What it tells, when it is over.
    fn outcome(self: Box<Self>, interrupt: &Interrupt) -> Result<Outcome>;

    /// Whether the laboratory has to look after congestion control and retransmissions itself.
    fn is_silent_about_tcp(&self) -> bool;
}

/// Traffic that is ready to start: its server waits.
pub(super) trait Ready {
    /// Starts it.
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>>;
}

/// Makes ready what the traffic needs at its receiver or server. `congestion`: the congestion control to use.
pub(super) fn prepare(
    traffic: &Traffic,
    method: &Method,
    congestion: &str,
    ends: Ends<'_>,
) -> Result<Box<dyn Ready>> {
    Ok(match (traffic, method) {
        (&Traffic::Tcp { flows, duration, .. }, Method::Mptcp) => {
            Box::new(flows::Ready::for_time(Transport::Mptcp, flows, duration, congestion, ends)?)
        }
        (&Traffic::Tcp { flows, duration, own: true, .. }, _) => {
            Box::new(flows::Ready::for_time(Transport::Tcp, flows, duration, congestion, ends)?)
        }
        (&Traffic::Download { bytes, limit, .. }, Method::Mptcp) => {
            Box::new(flows::Ready::of_a_file(bytes, limit, congestion, ends)?)
        }
        (_, Method::Mptcp) => bail!("Multipath TCP carries TCP only"),
        (&Traffic::Tcp { flows, duration, .. }, _) => {
            Box::new(iperf::Ready::tcp(flows, duration, congestion, ends)?)
        }
        (&Traffic::Udp { rate, duration, size }, _) => {
            Box::new(iperf::Ready::udp(rate, duration, size, ends)?)
        }
        (&Traffic::Rtp { rate, size, duration, both_ways }, _) => {
            Box::new(rtp::Ready::new(rate, size, duration, both_ways, ends)?)
        }
        (&Traffic::Ping { count, interval }, _) => Box::new(ping::Ready { count, interval }),
        (&Traffic::Download { protocol, bytes, limit, .. }, _) => {
            Box::new(download::Ready::new(protocol, bytes, limit, ends)?)
        }
    })
}

/// The programs of this traffic, each with what makes it tell its version.
pub(super) fn programs(
    traffic: &Traffic,
    method: &Method,
) -> Vec<(&'static str, &'static [&'static str])> {
    match (traffic, method) {
        (_, Method::Mptcp) | (Traffic::Rtp { .. } | Traffic::Tcp { own: true, .. }, _) => {
            Vec::new()
        }
        (Traffic::Tcp { .. } | Traffic::Udp { .. }, _) => vec![("iperf3", &["--version"])],
        (Traffic::Ping { .. }, _) => vec![("ping", &["-V"])],
        (Traffic::Download { protocol, .. }, _) => download::programs(*protocol),
    }
}

/// Waits until a server listens for TCP.
fn wait_until_it_listens(server: &mut Talking, port: u16, interrupt: &Interrupt) -> Result<()> {
    let start = Instant::now();
    while !crate::iperf::listens(server.id(), port) {
        interrupt.check()?;
        if let Some(status) = server.ended()? {
            bail!("the server ended at once: {status}");
        }
        if start.elapsed() > START {
            bail!("the server does not listen after {} s", START.as_secs());
        }
        thread::sleep(POLL);
    }
    Ok(())
}

impl Outcome {
    pub(super) fn metric(&mut self, name: &str, value: Option<f64>) {
        // Neither is a number in JSON.
        if let Some(value) = value.filter(|value| value.is_finite()) {
            // An empty sum is -0.0.
            self.metrics.insert(name.into(), value + 0.0);
        }
    }

    pub(super) fn series(&mut self, name: &str, unit: &str, values: Vec<f64>) {
        let step = analysis::STEP.as_secs_f64();
        self.series.insert(name.into(), Series { unit: unit.into(), step, values });
    }

    /// Everything that follows from the bytes that arrived in each interval of [`analysis::STEP`].
    fn goodput(&mut self, bins: &[f64]) {
        let series = analysis::megabits(bins);
        self.metric(metric::GOODPUT_3_TO_10, analysis::seconds_3_to_10(&series));
        self.metric(metric::TRANSIENT, analysis::transient(&series));
        // Where each packet is seen the gap is known exactly.
        if !self.metrics.contains_key(metric::LONGEST_GAP) {
            self.metric(metric::LONGEST_GAP, analysis::longest_gap(&series));
        }
        self.series("goodput", "Mbit/s", series);
    }
}
