//! Several connections that share links (profile `rfc`).

use std::time::Duration;

use crate::kernel::random::Stream;
use crate::kernel::time::Time;
use crate::network::Route;
use crate::simulation::Simulation;
use crate::transport::mptcp::{Options, Receiver, Sender};

use super::{PathPlan, join};

/// Number of the random stream that spreads starts and detours; links have the streams from 0 on.
const SPREAD_STREAM: u64 = 1 << 33;
/// Range of the connections' starts, and of their detours: without these, drop-tail queues would prefer the one that comes first in every round
/// (phase effects, Floyd and Jacobson 1992).
const LATEST_START: Duration = Duration::from_secs(2);
const LONGEST_DETOUR: Duration = Duration::from_millis(3);

/// Endless connections over shared links.
#[derive(Clone, Debug, PartialEq)]
pub struct Contest {
    /// The links.
    pub links: Vec<PathPlan>,
    /// The options of each connection, and the link of each of its subflows.
    pub connections: Vec<(Options, Vec<usize>)>,
    /// Time before the measurement begins.
    pub warm_up: Duration,
    /// Duration of the measurement.
    pub measured: Duration,
    /// Duration of one sample.
    pub sample: Duration,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Throughput of each subflow in Mbit/s: by connection, by subflow, by sample.
pub type Rates = Vec<Vec<Vec<f64>>>;

impl Contest {
    /// Runs it.
    pub fn run(&self) -> Rates {
        let (network, links) = join(&self.links, self.seed);
        let mut spread = Stream::new(self.seed, SPREAD_STREAM);
        let mut simulation = Simulation::new(network, true);
        for (options, subflows) in &self.connections {
            let routes: Vec<Route> = subflows
                .iter()
                .map(|&link| Route { detour: LONGEST_DETOUR.mul_f64(spread.unit()), ..links[link] })
                .collect();
            let start = Time::ZERO + LATEST_START.mul_f64(spread.unit());
            let count = routes.len();
            let receiver = Receiver::new(options, count);
            simulation.add_flow(Sender::new(*options, count), receiver, &routes, start);
        }
        let mut rates: Rates =
            self.connections.iter().map(|(_, links)| vec![Vec::new(); links.len()]).collect();
        let mut before =
            self.connections.iter().map(|(_, links)| vec![0; links.len()]).collect::<Vec<_>>();
        let samples = self.measured.as_nanos() / self.sample.as_nanos().max(1);
        let mut at = Time::ZERO + self.warm_up;
        for sample in 0..=samples as u64 {
            simulation.run(at, |_, _, _| {});
            for (connection, flow) in simulation.flows().iter().enumerate() {
                for (path, subflow) in flow.sender.subflows().iter().enumerate() {
                    let acknowledged = subflow.first();
                    let bits = (acknowledged - before[connection][path])
                        * crate::transport::mptcp::MSS
                        * 8;
                    before[connection][path] = acknowledged;
                    if sample > 0 {
                        let rate = bits as f64 / self.sample.as_secs_f64() / 1e6;
                        rates[connection][path].push(rate);
                    }
                }
            }
            at = at + self.sample;
        }
        rates
    }
}
