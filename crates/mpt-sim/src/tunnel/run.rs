//! Runs a case.

use std::time::Duration;

use mpt_core::Repair;

use crate::kernel::time::Time;

use super::case::Case;
use super::outcome::{Outcome, Rates};
use super::plan::TunnelPlan;
use super::scene::Scene;
use super::traffic::flow::{Flow, Way};
use super::world::SENDER;

impl Case {
    /// Runs it.
    ///
    /// # Panics
    ///
    /// Panics if the paths make no tunnel (none, too many, a weight of 0), or the model is wrong: an invariant does not hold.
    pub fn run(&self) -> Outcome {
        self.run_with(|_, _| {})
    }

    /// Runs it, and calls `observe` after every event with the time since the flow began, and the bytes that have been delivered.
    ///
    /// # Panics
    ///
    /// Panics like [`Case::run`].
    pub fn run_with(&self, mut observe: impl FnMut(Time, u64)) -> Outcome {
        let scene = self.scene();
        let mut world = scene.world();
        let begin = Time::ZERO + scene.warm_up;
        while world.events.next_time().is_some_and(|next| next < begin) {
            world.step();
        }
        let inner = u64::from(world.tunnels[0].ends[SENDER].mtu());
        world.add_flow(Flow::new(0, Way::Tunnel(0), self.tcp, inner, begin));
        let mss = world.flows[0].mss;
        let settled_from = begin + self.settled_from.min(self.duration);
        let end = begin + self.duration;
        let mut before = None;
        while world.events.next_time().is_some_and(|next| next <= end) {
            if world.events.next_time() >= Some(settled_from) {
                before.get_or_insert(world.flows[0].delivered());
            }
            world.step();
            let elapsed = world.events.now() - begin;
            observe(Time::ZERO + elapsed, world.flows[0].delivered());
        }
        let delivered = world.flows[0].delivered();
        let settled = delivered - before.unwrap_or(delivered);
        let rate =
            |bytes: u64, time: Duration| (bytes * 8) as f64 / time.as_secs_f64().max(1e-9) / 1e6;
        let rates = Rates {
            capacity: self.capacity(mss, inner),
            goodput: rate(delivered, self.duration),
            settled: rate(settled, end - settled_from),
        };
        Outcome::of(&world, rates)
    }

    /// Returns the tunnel, and nothing that uses it yet.
    fn scene(&self) -> Scene {
        let paths = self.paths.iter().enumerate().map(|(link, path)| (link, path.weight)).collect();
        let Self { reorder, mapping, session, .. } = *self;
        Scene {
            links: self.paths.clone(),
            tunnels: vec![TunnelPlan {
                paths,
                rates: Vec::new(),
                reorder,
                mapping,
                session,
                repair: Repair::Auto,
            }],
            flows: Vec::new(),
            echoes: Vec::new(),
            streams: Vec::new(),
            changes: Vec::new(),
            warm_up: if session { self.warm_up } else { Duration::ZERO },
            duration: self.duration,
            seed: self.seed,
        }
    }
}
