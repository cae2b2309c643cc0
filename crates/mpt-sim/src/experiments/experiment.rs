//! The description of an experiment, and the settings with which it is run.

use crate::report::Report;
use crate::study::{Case, Outcome, in_parallel};

/// An experiment.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its title in reports.
    pub title: &'static str,
    /// Seeds per case, unless asked for others.
    pub seeds: u64,
    /// The names that [`Setting::only`] chooses from; empty if there is no choice.
    pub parts: &'static [&'static str],
    pub(super) run: fn(&Experiment, &Setting<'_>) -> Report,
}

/// The settings with which an experiment is run.
pub struct Setting<'a> {
    /// Seeds per case; `None` for the experiment's own.
    pub seeds: Option<u64>,
    /// The first seed of each case.
    pub first_seed: u64,
    /// The chosen ones of [`Experiment::parts`]; all of them if empty. Experiments without parts ignore it.
    pub only: &'a [String],
    /// The chosen ones of the [`METHODS`](super::METHODS); all of them if empty. Experiments without parts have no methods.
    pub methods: &'a [String],
    /// True if [`Report::traces`] is wanted.
    pub trace: bool,
    /// Called with the number of runs before they begin.
    pub expect: &'a (dyn Fn(u64) + Sync),
    /// Called after every run, from any thread.
    pub progress: &'a (dyn Fn() + Sync),
}

impl Default for Setting<'_> {
    /// The whole experiment with its own seeds, from 0 on, without traces and without a word of its progress.
    fn default() -> Self {
        Self {
            seeds: None,
            first_seed: 0,
            only: &[],
            methods: &[],
            trace: false,
            expect: &|_| {},
            progress: &|| {},
        }
    }
}

impl Experiment {
    /// Runs it.
    pub fn run(&self, setting: &Setting<'_>) -> Report {
        (self.run)(self, setting)
    }

    pub(super) fn seeds(&self, setting: &Setting<'_>) -> u64 {
        setting.seeds.unwrap_or(self.seeds)
    }

    pub(super) fn report(&self, setting: &Setting<'_>) -> Report {
        Report::new(self.name, self.title, self.seeds(setting))
    }

    /// Runs every case that exists with each seed. Returns the outcomes of each case, `None` if it does not exist.
    pub(super) fn run_all(
        &self,
        setting: &Setting<'_>,
        cases: &[Case],
    ) -> Vec<Option<Vec<Outcome>>> {
        let seeds = self.seeds(setting);
        let runs: Vec<Case> = cases
            .iter()
            .filter(|case| case.exists())
            .flat_map(|case| (0..seeds).map(|seed| Case { seed, ..*case }))
            .collect();
        (setting.expect)(runs.len() as u64);
        let mut outcomes = in_parallel(&runs, Case::run, setting.progress).into_iter().flatten();
        let of_case =
            |case: &Case| case.exists().then(|| outcomes.by_ref().take(seeds as usize).collect());
        cases.iter().map(of_case).collect()
    }
}
