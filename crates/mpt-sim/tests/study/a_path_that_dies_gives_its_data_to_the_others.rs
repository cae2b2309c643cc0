//! Data of a subflow that times out are sent again on another.

use std::time::Duration;

use mpt_link::{Change, Loss, Probability};
use mpt_sim::congestion::Control;
use mpt_sim::mptcp::{Options, Receiver, Scheduler, Sender};
use mpt_sim::simulation::{End, Simulation};
use mpt_sim::study::{PathPlan, join};
use mpt_sim::tcp::{Config, Treatment};
use mpt_sim::time::Time;

#[test]
fn the_transfer_goes_on_within_seconds() {
    let paths = [10, 30].map(|delay| PathPlan::constant(Duration::from_millis(delay)));
    for scheduler in [
        Scheduler::RoundRobin,
        Scheduler::MinRtt,
        Scheduler::Blest,
        Scheduler::Ecf,
        Scheduler::Redundant,
    ] {
        let (network, routes) = join(&paths, 1);
        let tcp = Config::standard(Control::Reno, Treatment::RackTlp);
        let options = Options { tcp, scheduler, receive_buffer: 1000, total: Some(2000) };
        let mut simulation = Simulation::new(network, true);
        simulation.add_flow(
            Sender::new(options, 2),
            Receiver::new(&options, 2),
            &routes,
            Time::ZERO,
        );
        let cut = Time::ZERO + Duration::from_secs(10);
        assert_eq!(simulation.run(cut, |_, _, _| {}), End::TimeOver);
        let loss = Change::Loss(Loss::Bernoulli(Probability::ONE));
        simulation.network_mut().change(cut, routes[0].forward, loss);
        // 2000 segments take 47 s of one path.
        let limit = Time::ZERO + Duration::from_secs(70);
        assert_eq!(simulation.run(limit, |_, _, _| {}), End::Finished, "{scheduler:?}");
        let sender = &simulation.flows()[0].sender;
        if scheduler != Scheduler::Redundant {
            assert!(sender.reinjected() > 0, "{scheduler:?}");
        }
    }
}
