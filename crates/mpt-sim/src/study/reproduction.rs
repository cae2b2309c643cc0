//! Runs of the profile `ns3-2011`.

use crate::kernel::random::Stream;
use crate::kernel::time::Time;
use crate::simulation::{Receiver as _, Simulation};
use crate::transport::ns3_2011::{Options, Receiver, Sender};

use super::{Logged, Outcome, PathPlan, TIME_LIMIT, join};

/// Number of the random stream of the sender; links have the streams from 0 on.
const SENDER_STREAM: u64 = 1 << 32;

/// One run of the profile `ns3-2011`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reproduction {
    /// The endpoints.
    pub options: Options,
    /// Its two paths: SF-0 and SF-1.
    pub paths: [PathPlan; 2],
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Reproduction {
    /// Runs it, with the invariants of links checked.
    pub fn run(&self) -> Outcome {
        self.run_with(|_, _| {})
    }

    /// Runs it, and calls `observe` with the sender after every event.
    pub fn run_with(&self, mut observe: impl FnMut(Time, &Sender)) -> Outcome {
        let (network, routes) = join(&self.paths, self.seed);
        let mut simulation = Simulation::new(network, true);
        let sender = Sender::new(self.options, Stream::new(self.seed, SENDER_STREAM));
        simulation.add_flow(sender, Receiver::new(&self.options), &routes, Time::ZERO);
        let end =
            simulation.run(Time::ZERO + TIME_LIMIT, |now, _, flow| observe(now, &flow.sender));

        let flow = &simulation.flows()[0];
        let seconds = flow.finished.unwrap_or(simulation.now()).as_secs_f64();
        let delivered = flow.receiver.delivered();
        let reordering = flow.receiver.reordering();
        let log = flow.sender.log();
        let rates = self.paths.map(|path| path.rate.bits_per_second() as f64);
        let share = |path: usize| {
            8.0 * simulation.carried(routes[path].forward) as f64 / seconds / rates[path]
        };
        let drops = |link| simulation.network().counters(link).queue_full.packets;
        Outcome {
            state: end.into(),
            seconds,
            goodput: (delivered * crate::transport::ns3_2011::MSS * 8) as f64 / seconds / 1e6,
            wire: vec![share(0), share(1)],
            logged: Some(Logged {
                throughput: log.total() / 1e6,
                utilisation: vec![log.subflow(0) / rates[0], log.subflow(1) / rates[1]],
            }),
            out_of_order: reordering.stored as f64 / delivered as f64,
            largest_buffer: reordering.most,
            density: reordering.shares(),
            retransmissions: flow.sender.retransmissions(),
            queue_drops: routes.iter().map(|it| drops(it.forward) + drops(it.backward)).sum(),
            events: simulation.handled(),
            trace: simulation.trace(),
        }
    }
}
