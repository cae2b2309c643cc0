//! One flow over each of the networks that lose packets, by every method, and the demands on
//! repair.

use std::time::Duration;

use crate::report::Report;

use super::super::{Experiment, Setting};
use super::list;
use super::one_flow::musts::{self, Must};
use super::one_flow::{self, Span, Task};
use super::runs::{is_chosen, seeds};

/// The names of the networks with a demand.
pub(in super::super) const NAMES: [&str; 11] = {
    let mut names = [""; 11];
    let mut index = 0;
    while index < names.len() {
        names[index] = musts::LOSSY[index].0;
        index += 1;
    }
    names
};

/// The network with the longest round-trip time, 300 ms: a flow takes longer to settle there.
const FAR: &str = "far_loss_1";
/// The span on that network.
const FAR_SPAN: Span = Span { duration: Duration::from_secs(20), from: 10.0, to: 20.0 };

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let names = NAMES.iter().filter(|name| is_chosen(setting, name));
    let networks = names.filter_map(|name| list::find(name));
    let task = |network: &'static list::Network| Task {
        network,
        must: Must::of(&musts::LOSSY, network.name),
        span: if network.name == FAR { FAR_SPAN } else { Span::USUAL },
        seeds: seeds(experiment, setting),
    };
    let tasks: Vec<Task> = networks.map(task).collect();
    one_flow::run(experiment, setting, &tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_demand_is_on_a_network_that_can_carry_it() {
        assert!(NAMES.contains(&FAR));
        for name in NAMES {
            let network = list::find(name).unwrap();
            let due = Must::of(&musts::LOSSY, name).unwrap().rate(None).unwrap();
            assert!(due > 0.0 && due < network.limit(), "{name}: {due}");
        }
    }
}
