//! Tunnels, flows and sparse traffic over links of any kind.

use std::time::Duration;

use mpt_core::path::mtu;
use mpt_link::{Change, FairLink, FqCodelConfig};

use crate::kernel::random::derive;
use crate::kernel::time::Time;
use crate::network::{Network, Route};

use super::case::Path;
use super::end::End;
use super::fair::Fair;
use super::outcome::record::{Record, Recorder};
use super::plan::{EchoPlan, FlowPlan, StreamPlan, TunnelPlan, Via};
use super::traffic::echo::Echoes;
use super::traffic::flow::{Flow, Way};
use super::traffic::stream::Stream;
use super::world::{Happening, RECEIVER, SENDER, Tunnel, World};

/// Time from the first packets that are sent back to the beginning of the flows; their round-trip times in it are those without load.
const UNLOADED: Duration = Duration::from_secs(1);

/// The description of a simulation.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The links, each alike in both directions.
    pub links: Vec<Path>,
    /// The tunnels over them.
    pub tunnels: Vec<TunnelPlan>,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// The sparse traffic, which begins a second before the flows.
    pub echoes: Vec<EchoPlan>,
    /// The streams, which begin a second before the flows, too.
    pub streams: Vec<StreamPlan>,
    /// Changes of links: the time after the beginning, the link, and the change.
    pub changes: Vec<(Duration, usize, Change)>,
    /// Longest time that the ends of the tunnels have a session before the beginning.
    pub warm_up: Duration,
    /// Simulated time from the beginning on.
    pub duration: Duration,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Scene {
    /// Runs it.
    ///
    /// # Panics
    ///
    /// Panics if the links make no tunnel (none, too many, a weight of 0), a number has no tunnel or link, or the model is wrong: an invariant does
    /// not hold.
    pub fn run(&self) -> Record {
        let mut world = self.world();
        let begin = Time::ZERO + self.warm_up;
        let early = Time::ZERO + self.warm_up.saturating_sub(UNLOADED);
        let routes = self.routes();
        let way = |via| match via {
            Via::Tunnel(number) => Way::Tunnel(number),
            Via::Link(link) => Way::Route(routes[link]),
        };
        for (number, plan) in (0..).zip(&self.echoes) {
            let echoes = Echoes::new(number, plan.kind, way(plan.via), plan.interval);
            world.add_echoes(echoes, early);
        }
        for (number, plan) in (0..).zip(&self.streams) {
            let StreamPlan { via, size, interval, protected } = *plan;
            world.add_stream(Stream::new(number, protected, size, way(via), interval), early);
        }
        while world.events.next_time().is_some_and(|next| next < begin) {
            world.step();
        }
        for (number, plan) in (0..).zip(&self.flows) {
            let mtu = match plan.via {
                Via::Tunnel(tunnel) => world.tunnels[tunnel].ends[SENDER].mtu(),
                Via::Link(_) => mtu::ETHERNET,
            };
            world.add_flow(Flow::new(
                number,
                way(plan.via),
                plan.tcp,
                mtu.into(),
                begin + plan.start,
            ));
        }
        let mut recorder = Recorder::new(begin);
        let end = begin + self.duration;
        while let Some(next) = world.events.next_time().filter(|&next| next <= end) {
            recorder.record_until(next, &mut world);
            world.step();
        }
        recorder.record_until(end, &mut world);
        recorder.finish(&mut world)
    }

    /// Returns the links, and tunnels over them whose ends have no session yet.
    pub(super) fn world(&self) -> World {
        let mut network = Network::new();
        for (stream, link) in (0..).zip(&self.links) {
            network.add(link.params(0), self.seed, 2 * stream);
            network.add(link.params(1), self.seed, 2 * stream + 1);
        }
        let routes = self.routes();
        let start = network.instant(Time::ZERO);
        let fair_links = (0..).zip(&self.links).filter(|(_, link)| link.fair);
        let mut fair: Vec<Fair<Happening>> = fair_links
            .flat_map(|(stream, link)| {
                let Route { forward, backward, .. } = routes[stream as usize];
                let sides = [(forward, 0), (backward, 1)];
                let config = FqCodelConfig::default();
                sides.map(|(id, side)| {
                    let seed = derive(self.seed, 2 * stream + side as u64);
                    Fair::new(id, FairLink::new(start, link.params(side), config, [], seed))
                })
            })
            .collect();
        for &(after, link, change) in &self.changes {
            let Route { forward, backward, .. } = routes[link];
            let at = Time::ZERO + self.warm_up + after;
            for link in [forward, backward] {
                network.change(at, link, change);
                let instant = network.instant(at);
                let fair = fair.iter_mut().filter(|fair| fair.id == link);
                fair.for_each(|fair| fair.link.change(instant, change));
            }
        }
        let tunnels = self.tunnels.iter().enumerate().map(|(number, plan)| {
            let ends =
                [SENDER, RECEIVER].map(|side| End::new(start, number, side, plan, self.seed));
            Tunnel::new(ends, plan.paths.iter().map(|&(link, _)| routes[link]).collect())
        });
        let tunnels = tunnels.collect();
        World::new(network, fair, tunnels)
    }

    /// Returns the route over each link.
    fn routes(&self) -> Vec<Route> {
        let links = 0..self.links.len();
        links.map(|link| Route::over(2 * link, 2 * link + 1)).collect()
    }
}
