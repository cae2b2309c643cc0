//! The costs of a client, and their limits.

use super::full::Full;
use super::site;
use super::stage::Measured;
use crate::results::samples::Samples;

/// Factor on the limits in a quick run, whose machine may be busy with anything.
const WIDE: f64 = 3.0;
/// Name of the sample with the number of clients.
pub(super) const CLIENTS: &str = "clients";

/// One line of the table.
#[derive(Debug)]
pub(super) struct Figure {
    /// Name of its samples, and its title in tables.
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    limit: Limit,
}

/// The limit of a figure.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// No limit: the figure is only shown.
    None,
    /// The value has to be at most this.
    AtMost(f64),
    /// The value has to be at least this share of the probes that are due in a second.
    Probes(f64),
}

/// A figure with the limit that it has to keep in this run.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) limit: Option<String>,
    pub(super) kept: bool,
}

impl Figure {
    /// Judges the median of the rounds; limits of a quick run are wide.
    pub(super) fn judge(&self, samples: &Samples, quick: bool) -> Judged {
        let wide = if quick { WIDE } else { 1.0 };
        let value = samples.median(self.title).unwrap_or(f64::NAN);
        let probes = samples.median(CLIENTS).unwrap_or(0.0) * site::PATHS as f64 * 10.0;
        match self.limit {
            Limit::None => Judged { limit: None, kept: true },
            Limit::AtMost(limit) => {
                let limit = limit * wide;
                Judged { limit: Some(format!("<= {limit:.1}")), kept: value <= limit }
            }
            Limit::Probes(share) => {
                let limit = probes * share / wide;
                Judged { limit: Some(format!(">= {limit:.0}")), kept: value >= limit }
            }
        }
    }
}

const fn told(title: &'static str, unit: &'static str) -> Figure {
    Figure { title, unit, limit: Limit::None }
}

const fn at_most(title: &'static str, unit: &'static str, limit: f64) -> Figure {
    Figure { title, unit, limit: Limit::AtMost(limit) }
}

/// The figures, in the order of the table, which is that of [`values`].
pub(super) const FIGURES: &[Figure] = &[
    told("time until all are connected", "s"),
    at_most("clients lost meanwhile", "", 0.0),
    at_most("memory of an idle client", "KB", 32.0),
    told("CPU while only probes flow", "% of a core"),
    Figure { title: "probes served per second", unit: "", limit: Limit::Probes(0.95) },
    told("cost of a packet from a client, one client", "us"),
    told("cost of a packet from a client, all clients", "us"),
    at_most("from a client: all against one", "x", 1.2),
    told("cost of a packet to a client, one client", "us"),
    told("cost of a packet to a client, all clients", "us"),
    told("to a client: all against one", "x"),
    told("the kernel alone: a datagram of a batch to one", "us"),
    told("the kernel alone: a datagram to each in turn", "us"),
    told("the kernel alone: in turn against a batch", "x"),
    told("to one client, lengths that no batch can have", "us"),
    told("to all clients, lengths that no batch can have", "us"),
    at_most("lengths that no batch can have: all against one", "x", 1.2),
    at_most("packets lost", "%", 1.0),
];

/// The same for clients whose data are sealed, in the order of [`sealed`].
pub(super) const SEALED: &[Figure] = &[
    at_most("sealed: memory of an idle client", "KB", 32.0),
    told("sealed: cost of a packet from a client, one client", "us"),
    told("sealed: cost of a packet from a client, all clients", "us"),
    at_most("sealed: from a client: all against one", "x", 1.2),
    told("sealed: to one client, lengths that no batch can have", "us"),
    told("sealed: to all clients, lengths that no batch can have", "us"),
    at_most("sealed: lengths that no batch can have: all against one", "x", 1.2),
    at_most("sealed: packets lost", "%", 1.0),
];

/// Memory of the daemon in the states that need the most of it, in the order of [`memory`].
pub(super) const MEMORY: &[Figure] = &[
    told("before the first client", "MB"),
    told("all clients connected and idle", "MB"),
    told("after bursts to every client over slower interfaces", "MB"),
    told("packets that wait for earlier ones", "MB"),
    told("meanwhile, the daemon", "MB"),
    // Two thirds of what the unit allows (`MemoryMax`).
    at_most("the most at any time", "MB", 700.0),
];

/// Adds the values of one round.
pub(super) fn add(one: &Measured, all: &Measured, samples: &mut Samples) {
    for (figure, value) in FIGURES.iter().zip(values(one, all)) {
        samples.add(figure.title, value);
    }
}

/// Adds the values of one round with sealed data.
pub(super) fn add_sealed(one: &Measured, all: &Measured, samples: &mut Samples) {
    for (figure, value) in SEALED.iter().zip(sealed(one, all)) {
        samples.add(figure.title, value);
    }
}

/// Adds the memory of one round.
pub(super) fn add_memory(full: &Full, samples: &mut Samples) {
    for (figure, value) in MEMORY.iter().zip(memory(full)) {
        samples.add(figure.title, value as f64 / 1e6);
    }
}

fn values(one: &Measured, all: &Measured) -> [f64; FIGURES.len()] {
    let [up_one, up_all, up] = against(one.loads.up, all.loads.up);
    let [down_one, down_all, down] = against(one.loads.down, all.loads.down);
    let [batched, apart, kernel] = against(all.kernel.batched, all.kernel.apart);
    let [apart_one, apart_all, down_apart] = against(one.loads.down_apart, all.loads.down_apart);
    [
        all.connected.as_secs_f64(),
        all.lost as f64,
        all.memory / 1e3,
        all.loads.idle_cores * 100.0,
        all.loads.probes,
        up_one,
        up_all,
        up,
        down_one,
        down_all,
        down,
        batched,
        apart,
        kernel,
        apart_one,
        apart_all,
        down_apart,
        all.loads.loss * 100.0,
    ]
}

fn sealed(one: &Measured, all: &Measured) -> [f64; SEALED.len()] {
    let [up_one, up_all, up] = against(one.loads.up, all.loads.up);
    let [apart_one, apart_all, down_apart] = against(one.loads.down_apart, all.loads.down_apart);
    let (memory, loss) = (all.memory / 1e3, all.loads.loss * 100.0);
    [memory, up_one, up_all, up, apart_one, apart_all, down_apart, loss]
}

/// Returns two times in seconds as microseconds, and the second one as a multiple of the first one.
fn against(first: f64, second: f64) -> [f64; 3] {
    [first * 1e6, second * 1e6, second / first]
}

fn memory(full: &Full) -> [u64; MEMORY.len()] {
    [full.empty, full.idle, full.queued, full.waiting, full.filled, full.peak]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn titles_are_unique() {
        let all = || FIGURES.iter().chain(SEALED).chain(MEMORY);
        let titles: BTreeSet<_> = all().map(|figure| figure.title).collect();
        assert_eq!(titles.len(), all().count());
    }

    #[test]
    fn a_limit_is_kept_or_not() {
        let memory = at_most("memory", "KB", 100.0);
        let probes = Figure { title: "probes", unit: "", limit: Limit::Probes(0.95) };
        let mut samples = Samples::default();
        assert!(!memory.judge(&samples, false).kept, "not measured is not kept");
        samples.add("memory", 150.0);
        samples.add(CLIENTS, 100.0);
        samples.add("probes", 1900.0);
        assert!(!memory.judge(&samples, false).kept && memory.judge(&samples, true).kept);
        assert!(probes.judge(&samples, false).kept);
        assert_eq!(probes.judge(&samples, false).limit.unwrap(), ">= 1900");
    }
}
