//! The experiments of `mpt-sim run`.

mod density;
mod differences;
mod experiment;
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
pub use experiment::{Experiment, Setting};

/// All experiments: the study in the order of the paper, then the tunnel.
pub const ALL: [Experiment; 30] = {
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
            of("drawn-networks", "Networks drawn at random", 40, networks::drawn),
            &networks::DRAWN,
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
        with_parts(
            of("realtime", "A call over paths that lose packets", 5, networks::realtime),
            &networks::CALLS,
        ),
    ]
};

impl Experiment {
    /// Returns the experiment of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|experiment| experiment.name == name)
    }
}
