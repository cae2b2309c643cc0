//! Runs of the profile `rfc`.

use crate::kernel::time::Time;
use crate::simulation::{Receiver as _, Simulation};
use crate::transport::mptcp::{MSS, Options, Receiver, Sender};

use super::{Outcome, PathPlan, TIME_LIMIT, join};

/// One run of the profile `rfc`.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    /// The connection.
    pub options: Options,
    /// Its paths.
    pub paths: Vec<PathPlan>,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Standard {
    /// Runs it, with the invariants of links checked.
    pub fn run(&self) -> Outcome {
        self.run_with(|_, _| {})
    }

    /// Runs it, and calls `observe` with the sender after every event.
    pub fn run_with(&self, mut observe: impl FnMut(Time, &Sender)) -> Outcome {
        let (network, routes) = join(&self.paths, self.seed);
        let mut simulation = Simulation::new(network, true);
        let paths = self.paths.len();
        let receiver = Receiver::new(&self.options, paths);
        simulation.add_flow(Sender::new(self.options, paths), receiver, &routes, Time::ZERO);
        let end =
            simulation.run(Time::ZERO + TIME_LIMIT, |now, _, flow| observe(now, &flow.sender));

        let flow = &simulation.flows()[0];
        let seconds = flow.finished.unwrap_or(simulation.now()).as_secs_f64();
        let delivered = flow.receiver.delivered();
        let reordering = flow.receiver.reordering();
        let wire = self.paths.iter().zip(&routes).map(|(path, route)| {
            let bits = 8.0 * simulation.carried(route.forward) as f64;
            bits / seconds / path.rate.bits_per_second() as f64
        });
        let drops = |link| simulation.network().counters(link).queue_full.packets;
        let subflows = flow.sender.subflows();
        Outcome {
            state: end.into(),
            seconds,
            goodput: (delivered * MSS * 8) as f64 / seconds / 1e6,
            wire: wire.collect(),
            logged: None,
            out_of_order: reordering.stored as f64 / delivered as f64,
            largest_buffer: reordering.most,
            density: reordering.shares(),
            retransmissions: subflows.iter().map(|it| it.counters().retransmitted).sum(),
            queue_drops: routes.iter().map(|it| drops(it.forward) + drops(it.backward)).sum(),
            events: simulation.handled(),
            trace: simulation.trace(),
        }
    }
}
