//! The experiments of `mpt-sim run`.

mod density;
mod differences;
mod goals;
mod lossy;
mod networks;
mod scenarios;
mod tables;
mod throughput;
mod traces;
mod tunnel;

pub use networks::METHODS;

use crate::report::Report;
use crate::study::{Case, Outcome, in_parallel};

/// An experiment.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Seeds per case, unless asked for others.
    pub seeds: u64,
    /// The names of what [`Setting::only`] chooses from; none where there is no choice.
    pub parts: &'static [&'static str],
    run: fn(&Experiment, &Setting<'_>) -> Report,
}

/// How experiments are run.
pub struct Setting<'a> {
    /// Seeds per case; `None` for the experiment's own.
    pub seeds: Option<u64>,
    /// The first seed.
    pub first_seed: u64,
    /// Which of [`Experiment::parts`] are run; all of them where none is named. Others have no parts.
    pub only: &'a [String],
    /// Which of the [`METHODS`] are run; all of them where none is named. Experiments without parts have none.
    pub methods: &'a [String],
    /// Whether [`Report::traces`] is wanted.
    pub trace: bool,
    /// Is told how many runs there will be.
    pub expect: &'a (dyn Fn(u64) + Sync),
    /// Is called after every run, from any thread.
    pub progress: &'a (dyn Fn() + Sync),
}

/// All of them: the study in the order of the paper, then the tunnel.
pub const ALL: [Experiment; 28] = {
    const fn of(
        name: &'static str,
        title: &'static str,
        seeds: u64,
        run: fn(&Experiment, &Setting<'_>) -> Report,
    ) -> Experiment {
        Experiment { name, title, seeds, parts: &[], run }
    }
    const fn with_parts(experiment: Experiment, parts: &'static [&'static str]) -> Experiment {
        Experiment { parts, ..experiment }
    }
    [
        of(
            "alheid2014-scenarios",
            "Nothing treated, four networks (section IV-C.1)",
            10,
            scenarios::run,
        ),
        of("alheid2014-table1", "Out-of-order ratio and largest buffer", 30, tables::first),
        of("alheid2014-table2", "Link utilisation and throughput", 30, tables::second),
        of("alheid2014-fig4", "Throughput of the subflows over time", 1, throughput::over_time),
        of("alheid2014-fig5", "Buffer occupancy, nothing treated", 10, density::untreated),
        of("alheid2014-fig6", "Congestion windows with D-SACK", 1, traces::dsack),
        of("alheid2014-fig7", "Congestion windows with Eifel", 1, traces::eifel),
        of("alheid2014-fig8", "Congestion windows with TCP-DOOR", 1, traces::door),
        of("alheid2014-fig9", "Congestion windows with F-RTO", 1, traces::frto),
        of("alheid2014-fig10", "Throughput of all combinations", 30, throughput::bars),
        of("alheid2014-fig11", "Buffer occupancy under coupled control", 10, density::coupled),
        of(
            "alheid2014-fig12",
            "Throughput over delay difference, uncoupled",
            10,
            differences::uncoupled,
        ),
        of(
            "alheid2014-fig13",
            "Throughput over delay difference, fully coupled",
            10,
            differences::fully_coupled,
        ),
        of(
            "alheid2014-fig14",
            "Throughput over delay difference, coupled",
            10,
            differences::coupled,
        ),
        of("alheid2014-goals", "The goals of Multipath TCP (section II-B)", 10, goals::run),
        of("alheid2014-lossy", "Lossy, asymmetric links (the paper's future work)", 10, lossy::run),
        of(
            "tunnel-window",
            "Size of the reorder window (imareen2025, figure 11)",
            3,
            tunnel::window,
        ),
        of("tunnel-buffer-delay", "Maximum buffer delay", 3, tunnel::buffer_delay),
        of("tunnel-jitter", "Delay with jitter (imareen2025, figure 12)", 3, tunnel::jitter),
        of("tunnel-model", "The model of mpt advise: fitted, and judged", 2, tunnel::model),
        of("tunnel-advice", "What mpt advise recommends, and the papers' rules", 3, tunnel::advice),
        of("tunnel-cells", "Cells that the laboratory measures, too", 3, tunnel::cells),
        with_parts(
            of("real-networks", "Thirteen networks outside the papers", 3, networks::real),
            &networks::NAMES,
        ),
        with_parts(
            of("lossy-networks", "Networks that lose packets", 5, networks::lossy),
            &networks::LOSSY,
        ),
        with_parts(
            of("hard-links", "Links that do not stay as they are", 3, networks::hard),
            &networks::HARD_LINKS,
        ),
        with_parts(
            of("rate-steps", "A path that falls to a third and returns", 3, networks::steps),
            &networks::STEPS,
        ),
        with_parts(
            of("competing", "Others on the links of the tunnel", 3, networks::competing),
            &networks::RIVALS,
        ),
        with_parts(
            of("latency", "A remote shell, idle and beside bulk", 3, networks::latency),
            &networks::SHELLS,
        ),
    ]
};

impl Experiment {
    /// The one of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|experiment| experiment.name == name)
    }

    /// Runs it.
    pub fn run(&self, setting: &Setting<'_>) -> Report {
        (self.run)(self, setting)
    }

    fn seeds(&self, setting: &Setting<'_>) -> u64 {
        setting.seeds.unwrap_or(self.seeds)
    }

    fn report(&self, setting: &Setting<'_>) -> Report {
        Report::new(self.name, self.title, self.seeds(setting))
    }

    /// Runs every case that exists with each seed: the outcomes of each case, `None` where it does not exist.
    fn run_all(&self, setting: &Setting<'_>, cases: &[Case]) -> Vec<Option<Vec<Outcome>>> {
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
