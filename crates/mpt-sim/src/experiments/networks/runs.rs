//! Cases run with every seed.

use crate::study::in_parallel;
use crate::tunnel::{Record, Scene};

use super::super::{Experiment, Setting};

/// The measurements of each case by seed, and the traces if they are wanted.
pub(super) struct Runs<M> {
    pub(super) cases: Vec<Vec<M>>,
    pub(super) traces: Vec<String>,
}

/// Runs each case with its number of seeds.
pub(super) fn run<C: Sync, M: Send>(
    setting: &Setting<'_>,
    cases: &[(C, u64)],
    scene: impl Fn(&C, u64) -> Scene + Sync,
    measure: impl Fn(&C, &Record) -> M + Sync,
) -> Runs<M> {
    let seeds = |count: u64| setting.first_seed..setting.first_seed + count;
    let runs: Vec<(&C, u64)> = cases
        .iter()
        .flat_map(|(case, count)| seeds(*count).map(move |seed| (case, seed)))
        .collect();
    (setting.expect)(runs.len() as u64);
    let one = |&(case, seed): &(&C, u64)| {
        let record = scene(case, seed).run();
        (measure(case, &record), setting.trace.then(|| record.csv()))
    };
    let (measured, traces): (Vec<M>, Vec<Option<String>>) =
        in_parallel(&runs, one, setting.progress).into_iter().unzip();
    let mut rest = measured.into_iter();
    let cases =
        cases.iter().map(|(_, count)| rest.by_ref().take(*count as usize).collect()).collect();
    Runs { cases, traces: traces.into_iter().flatten().collect() }
}

/// Returns the number of seeds of an experiment whose cases all have as many.
pub(super) fn seeds(experiment: &Experiment, setting: &Setting<'_>) -> u64 {
    setting.seeds.unwrap_or(experiment.seeds)
}

/// True if a part of an experiment is wanted.
pub(super) fn is_chosen(setting: &Setting<'_>, name: &str) -> bool {
    setting.only.is_empty() || setting.only.iter().any(|it| it == name)
}

/// Returns the mean over the seeds; NaN without any.
pub(super) fn mean<M>(cell: &[M], of: impl Fn(&M) -> f64) -> f64 {
    cell.iter().map(of).sum::<f64>() / cell.len() as f64
}
