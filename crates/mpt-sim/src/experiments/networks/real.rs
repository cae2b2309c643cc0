//! One flow over each of thirteen networks, by every method.

use crate::report::Report;

use super::super::{Experiment, Setting};
use super::list::{self, Network};
use super::one_flow::musts::{self, Must};
use super::one_flow::{self, Span, Task};
use super::runs::{is_chosen, seeds};

/// Seeds of networks in which a few random losses decide the result of a run.
const SEEDS_OF_LOSSES: u64 = 20;

pub(in super::super) fn run(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    let networks = list::ALL.iter().filter(|network| is_chosen(setting, network.name));
    let task = |network: &'static Network| {
        let must = Must::of(&musts::REAL, network.name);
        let seeds = match must {
            Some(Must::OfTheBetterPath(_)) => setting.seeds.unwrap_or(SEEDS_OF_LOSSES),
            _ => seeds(experiment, setting),
        };
        Task { network, must, span: Span::USUAL, seeds }
    };
    let tasks: Vec<Task> = networks.map(task).collect();
    one_flow::run(experiment, setting, &tasks)
}
