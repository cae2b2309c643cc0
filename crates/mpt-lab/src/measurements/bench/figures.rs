//! The figures that count, and their targets.

use mpt_report::statistics;

use crate::results::samples::Samples;

/// One line of the table.
#[derive(Debug)]
pub(super) struct Figure {
    /// Its name in `bench.json`, which never changes.
    pub(super) name: &'static str,
    /// Its title in tables.
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    /// The way in which it follows from the samples.
    pub(super) value: Value,
    /// Its target; `None` if it is only shown.
    pub(super) target: Option<Target>,
}

/// The way in which a figure follows from the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// The median of the samples.
    Of(&'static str),
    /// The first divided by the second: the median of the turns' ratios, since both are measured in each turn.
    Ratio(&'static str, &'static str),
    /// The first minus the second: the median of the turns' differences.
    Difference(&'static str, &'static str),
    /// The largest of all samples whose names end in this.
    Largest(&'static str),
}

/// Limits of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    /// The value has to be at least this.
    AtLeast {
        /// The run fails below this.
        must: f64,
        /// The value that is aimed at.
        goal: f64,
    },
    /// The value has to be at most this.
    AtMost {
        /// The run fails above this.
        must: f64,
        /// The value that is aimed at.
        goal: f64,
    },
}

impl Value {
    /// Returns the figure; `None` when something it is made of was not measured. Where a failure leaves open which values belong together, it is made
    /// of the medians of both.
    pub(super) fn from(self, samples: &Samples) -> Option<f64> {
        match self {
            Self::Of(name) => samples.median(name),
            Self::Ratio(a, b) => {
                self.of_turns(samples, || Some(samples.median(a)? / samples.median(b)?))
            }
            Self::Difference(a, b) => {
                self.of_turns(samples, || Some(samples.median(a)? - samples.median(b)?))
            }
            Self::Largest(ending) => samples.largest(ending),
        }
    }

    /// Returns the median of the turns' figures, or where no turn has one, that of the medians.
    fn of_turns(self, samples: &Samples, of_medians: impl Fn() -> Option<f64>) -> Option<f64> {
        statistics::median(&self.each(samples)).or_else(of_medians)
    }

    /// Returns the figure of each turn; empty where turns say nothing about it, and where a failure leaves open which values belong together.
    pub(super) fn each(self, samples: &Samples) -> Vec<f64> {
        let both = |a, b, figure: fn(f64, f64) -> f64| {
            let (first, second) = (samples.values(a), samples.values(b));
            let pairs = first.iter().zip(second).filter(|_| first.len() == second.len());
            pairs.map(|(&a, &b)| figure(a, b)).collect()
        };
        match self {
            Self::Of(name) => samples.values(name).to_vec(),
            Self::Ratio(a, b) => both(a, b, |a, b| a / b),
            Self::Difference(a, b) => both(a, b, |a, b| a - b),
            Self::Largest(_) => Vec::new(),
        }
    }
}

impl Target {
    pub(super) fn must(self) -> f64 {
        match self {
            Self::AtLeast { must, .. } | Self::AtMost { must, .. } => must,
        }
    }

    pub(super) fn goal(self) -> f64 {
        match self {
            Self::AtLeast { goal, .. } | Self::AtMost { goal, .. } => goal,
        }
    }

    /// Returns the limit as a reader sees it, such as `>= 0.2`.
    pub(super) fn limit(self, limit: f64) -> String {
        match self {
            Self::AtLeast { .. } => format!(">= {limit}"),
            Self::AtMost { .. } => format!("<= {limit}"),
        }
    }

    /// Returns the name of the limit that the value reaches.
    pub(super) fn word(self, value: Option<f64>) -> &'static str {
        match value {
            Some(value) if self.reached(value, self.goal()) => "goal",
            Some(value) if self.reached(value, self.must()) => "must",
            Some(_) => "MISSED",
            None => "MISSING",
        }
    }

    /// True if `value` is as good as `limit` or better.
    pub(super) fn reached(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtLeast { .. } => value >= limit,
            Self::AtMost { .. } => value <= limit,
        }
    }
}

const fn at_least(must: f64, goal: f64) -> Option<Target> {
    Some(Target::AtLeast { must, goal })
}

const fn at_most(must: f64, goal: f64) -> Option<Target> {
    Some(Target::AtMost { must, goal })
}

const fn figure(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    value: Value,
    target: Option<Target>,
) -> Figure {
    Figure { name, title, unit, value, target }
}

use Value::{Difference, Largest, Of, Ratio};

/// The figures with a target, and then those they are made of.
#[rustfmt::skip] // one figure per line or two, as in a table
pub(super) const FIGURES: &[Figure] = &[
    figure("tcp_against_veth_tso", "one TCP flow, one path, against plain veth with TSO", "ratio",
        Ratio("tunnel-1-path/tcp-1/rate", "veth/tcp-1/rate"), at_least(0.20, 0.35)),
    figure("tcp_against_veth_no_tso", "the same, against plain veth without TSO", "ratio",
        Ratio("tunnel-1-path/tcp-1/rate", "veth-no-tso/tcp-1/rate"), at_least(1.2, 1.6)),
    figure("cpu_send", "CPU time at the sending end", "s/GB",
        Of("tunnel-1-path/tcp-1/cpu-send"), at_most(0.75, 0.45)),
    figure("cpu_receive", "CPU time at the receiving end", "s/GB",
        Of("tunnel-1-path/tcp-1/cpu-receive"), at_most(0.75, 0.45)),
    figure("paths_2_against_1", "2 paths, against 1 path", "ratio",
        Ratio("tunnel-2-paths/tcp-1/rate", "tunnel-1-path/tcp-1/rate"), at_least(0.80, 0.95)),
    figure("paths_4_against_1", "4 paths, against 1 path", "ratio",
        Ratio("tunnel-4-paths/tcp-1/rate", "tunnel-1-path/tcp-1/rate"), at_least(0.65, 0.90)),
    figure("flows_4_against_1", "four flows, against one flow", "ratio",
        Ratio("tunnel-1-path/tcp-4/rate", "tunnel-1-path/tcp-1/rate"), at_least(0.75, 1.00)),
    figure("udp_64_against_veth", "UDP 64 B, packets/s, against plain veth", "ratio",
        Ratio("tunnel-1-path/udp-64/rate", "veth/udp-64/rate"), at_least(0.40, 0.80)),
    figure("ping_added", "ping added, idle, median", "ms",
        Difference("tunnel-1-path/ping/median", "veth/ping/median"), at_most(0.20, 0.08)),
    figure("window_10000_against_0", "reorder window 10,000 against 0, 1 path", "ratio",
        Ratio("window-10000-1-path/tcp-1/rate", "window-0-1-path/tcp-1/rate"), at_least(0.95, 0.99)),
    figure("connections_1000_against_1", "look-up and scheduling, 1,000 connections against 1", "ratio",
        Ratio(CONNECTIONS_1000, CONNECTIONS_1), at_most(1.5, 1.1)),
    figure("memory_idle", "memory, idle, two paths, window 10,000", "MB",
        Of("window-10000-2-paths/idle-memory"), at_most(64.0, 24.0)),

    figure("sealed_against_plain", "one TCP flow sealed with AES-256-GCM, against plain, 1 path", "ratio",
        Ratio("session-aes-1-path/tcp-1/rate", "session-plain-1-path/tcp-1/rate"), at_least(0.70, 0.82)),
    figure("sealed_against_plain_2_paths", "the same, 2 paths", "ratio",
        Ratio("session-aes-2-paths/tcp-1/rate", "session-plain-2-paths/tcp-1/rate"), at_least(0.70, 0.82)),
    figure("chacha20_against_plain", "one TCP flow sealed with ChaCha20-Poly1305, against plain, 1 path", "ratio",
        Ratio("session-chacha20-1-path/tcp-1/rate", "session-plain-1-path/tcp-1/rate"), at_least(0.50, 0.65)),
    figure("chacha20_against_plain_2_paths", "the same, 2 paths", "ratio",
        Ratio("session-chacha20-2-paths/tcp-1/rate", "session-plain-2-paths/tcp-1/rate"), at_least(0.50, 0.65)),
    figure("sealed_against_wireguard_go", "one TCP flow sealed with AES-256-GCM, against wireguard-go, 1 path", "ratio",
        Ratio("session-aes-1-path/tcp-1/rate", "wireguard-go/tcp-1/rate"), at_least(4.5, 6.0)),
    figure("sealed_udp_64_against_plain", "UDP 64 B, packets/s, sealed against plain", "ratio",
        Ratio("session-aes-1-path/udp-64/rate", "session-plain-1-path/udp-64/rate"), at_least(0.80, 0.90)),
    figure("sealed_cpu_udp_64", "CPU time that sealing adds to a UDP packet of 64 B, both ends", "us",
        Difference("session-aes-1-path/udp-64-cpu/both", "session-plain-1-path/udp-64-cpu/both"), at_most(0.50, 0.25)),
    figure("adaptive_against_packet", "adaptive mapping (the default with a session) against \"packet\", one TCP flow, plain, 1 path", "ratio",
        Ratio("adaptive-plain-1-path/tcp-1/rate", "session-plain-1-path/tcp-1/rate"), at_least(0.97, 1.0)),
    figure("adaptive_against_packet_2_paths", "the same, 2 paths", "ratio",
        Ratio("adaptive-plain-2-paths/tcp-1/rate", "session-plain-2-paths/tcp-1/rate"), at_least(0.97, 1.0)),
    figure("adaptive_against_packet_sealed", "the same, sealed with AES-256-GCM, 1 path", "ratio",
        Ratio("adaptive-aes-1-path/tcp-1/rate", "session-aes-1-path/tcp-1/rate"), at_least(0.97, 1.0)),
    figure("adaptive_against_packet_sealed_2_paths", "the same, sealed with AES-256-GCM, 2 paths", "ratio",
        Ratio("adaptive-aes-2-paths/tcp-1/rate", "session-aes-2-paths/tcp-1/rate"), at_least(0.97, 1.0)),
    figure("adaptive_udp_64_against_packet", "UDP 64 B, packets/s, adaptive against \"packet\", plain", "ratio",
        Ratio("adaptive-plain-1-path/udp-64/rate", "session-plain-1-path/udp-64/rate"), at_least(0.97, 1.0)),
    figure("adaptive_udp_64_against_packet_sealed", "UDP 64 B, packets/s, adaptive against \"packet\", sealed with AES-256-GCM", "ratio",
        Ratio("adaptive-aes-1-path/udp-64/rate", "session-aes-1-path/udp-64/rate"), at_least(0.97, 1.0)),
    figure("window_10000_against_0_2_paths", "reorder window 10,000 against 0, 2 paths", "ratio",
        Ratio("window-10000-2-paths/tcp-1/rate", "window-0-2-paths/tcp-1/rate"), None),
    figure("ping_added_p99", "ping added, idle, 99th percentile", "ms",
        Difference("tunnel-1-path/ping/p99", "veth/ping/p99"), None),
    figure("udp_1400_against_veth", "UDP 1400 B, packets/s, against plain veth", "ratio",
        Ratio("tunnel-1-path/udp-1400/rate", "veth/udp-1400/rate"), None),
    figure("receive_1000_against_1", "look-up and reordering, 1,000 connections against 1", "ratio",
        Ratio(RECEIVE_1000, RECEIVE_1), None),
    figure("memory_peak", "memory, the most in any stage", "MB", Largest("/peak-memory"), None),

    figure("veth_tcp_1", "plain veth, TSO, 1 flow", "Gbit/s", Of("veth/tcp-1/rate"), None),
    figure("veth_tcp_4", "plain veth, TSO, 4 flows", "Gbit/s", Of("veth/tcp-4/rate"), None),
    figure("veth_no_tso_tcp_1", "plain veth, no TSO, 1 flow", "Gbit/s",
        Of("veth-no-tso/tcp-1/rate"), None),
    figure("tunnel_1_tcp_1", "tunnel, 1 path, 1 flow", "Gbit/s", Of("tunnel-1-path/tcp-1/rate"), None),
    figure("tunnel_1_tcp_4", "tunnel, 1 path, 4 flows", "Gbit/s", Of("tunnel-1-path/tcp-4/rate"), None),
    figure("tunnel_2_tcp_1", "tunnel, 2 paths, 1 flow", "Gbit/s", Of("tunnel-2-paths/tcp-1/rate"), None),
    figure("tunnel_2_tcp_4", "tunnel, 2 paths, 4 flows", "Gbit/s", Of("tunnel-2-paths/tcp-4/rate"), None),
    figure("tunnel_4_tcp_1", "tunnel, 4 paths, 1 flow", "Gbit/s", Of("tunnel-4-paths/tcp-1/rate"), None),
    figure("tunnel_4_tcp_4", "tunnel, 4 paths, 4 flows", "Gbit/s", Of("tunnel-4-paths/tcp-4/rate"), None),
    figure("window_10000_tcp_1", "tunnel, 1 path, window 10,000", "Gbit/s",
        Of("window-10000-1-path/tcp-1/rate"), None),
    figure("window_0_tcp_1", "tunnel, 1 path, window 0", "Gbit/s",
        Of("window-0-1-path/tcp-1/rate"), None),
    figure("window_10000_2_paths_tcp_1", "tunnel, 2 paths, window 10,000", "Gbit/s",
        Of("window-10000-2-paths/tcp-1/rate"), None),
    figure("window_0_2_paths_tcp_1", "tunnel, 2 paths, window 0", "Gbit/s",
        Of("window-0-2-paths/tcp-1/rate"), None),
    figure("session_plain_1_tcp_1", "session, plain, 1 path, 1 flow", "Gbit/s",
        Of("session-plain-1-path/tcp-1/rate"), None),
    figure("session_aes_1_tcp_1", "session, AES-256-GCM, 1 path, 1 flow", "Gbit/s",
        Of("session-aes-1-path/tcp-1/rate"), None),
    figure("session_chacha20_1_tcp_1", "session, ChaCha20-Poly1305, 1 path, 1 flow", "Gbit/s",
        Of("session-chacha20-1-path/tcp-1/rate"), None),
    figure("session_plain_2_tcp_1", "session, plain, 2 paths, 1 flow", "Gbit/s",
        Of("session-plain-2-paths/tcp-1/rate"), None),
    figure("session_aes_2_tcp_1", "session, AES-256-GCM, 2 paths, 1 flow", "Gbit/s",
        Of("session-aes-2-paths/tcp-1/rate"), None),
    figure("session_chacha20_2_tcp_1", "session, ChaCha20-Poly1305, 2 paths, 1 flow", "Gbit/s",
        Of("session-chacha20-2-paths/tcp-1/rate"), None),
    figure("session_plain_2_cpu_send", "session, plain, 2 paths, CPU time at the sending end", "s/GB",
        Of("session-plain-2-paths/tcp-1/cpu-send"), None),
    figure("session_plain_2_cpu_receive", "session, plain, 2 paths, CPU time at the receiving end", "s/GB",
        Of("session-plain-2-paths/tcp-1/cpu-receive"), None),
    figure("session_aes_2_cpu_send", "session, AES-256-GCM, 2 paths, CPU time at the sending end", "s/GB",
        Of("session-aes-2-paths/tcp-1/cpu-send"), None),
    figure("session_aes_2_cpu_receive", "session, AES-256-GCM, 2 paths, CPU time at the receiving end", "s/GB",
        Of("session-aes-2-paths/tcp-1/cpu-receive"), None),
    figure("session_chacha20_2_cpu_send", "session, ChaCha20-Poly1305, 2 paths, CPU time at the sending end", "s/GB",
        Of("session-chacha20-2-paths/tcp-1/cpu-send"), None),
    figure("session_chacha20_2_cpu_receive", "session, ChaCha20-Poly1305, 2 paths, CPU time at the receiving end", "s/GB",
        Of("session-chacha20-2-paths/tcp-1/cpu-receive"), None),
    figure("adaptive_plain_1_tcp_1", "session, adaptive, plain, 1 path, 1 flow", "Gbit/s",
        Of("adaptive-plain-1-path/tcp-1/rate"), None),
    figure("adaptive_plain_1_tcp_4", "session, adaptive, plain, 1 path, 4 flows", "Gbit/s",
        Of("adaptive-plain-1-path/tcp-4/rate"), None),
    figure("adaptive_plain_2_tcp_1", "session, adaptive, plain, 2 paths, 1 flow", "Gbit/s",
        Of("adaptive-plain-2-paths/tcp-1/rate"), None),
    figure("adaptive_aes_1_tcp_1", "session, adaptive, AES-256-GCM, 1 path, 1 flow", "Gbit/s",
        Of("adaptive-aes-1-path/tcp-1/rate"), None),
    figure("adaptive_aes_2_tcp_1", "session, adaptive, AES-256-GCM, 2 paths, 1 flow", "Gbit/s",
        Of("adaptive-aes-2-paths/tcp-1/rate"), None),
    figure("adaptive_plain_1_cpu_send", "session, adaptive, plain, 1 path, CPU time at the sending end", "s/GB",
        Of("adaptive-plain-1-path/tcp-1/cpu-send"), None),
    figure("adaptive_plain_1_cpu_receive", "session, adaptive, plain, 1 path, CPU time at the receiving end", "s/GB",
        Of("adaptive-plain-1-path/tcp-1/cpu-receive"), None),
    figure("wireguard_go_tcp_1", "wireguard-go, 1 flow", "Gbit/s", Of("wireguard-go/tcp-1/rate"), None),
    figure("session_plain_udp_64", "session, plain, UDP 64 B, < 1 % loss", "kpps",
        Of("session-plain-1-path/udp-64/rate"), None),
    figure("session_aes_udp_64", "session, AES-256-GCM, UDP 64 B, < 1 % loss", "kpps",
        Of("session-aes-1-path/udp-64/rate"), None),
    figure("session_plain_cpu_udp_64", "session, plain, CPU time of a UDP packet of 64 B, both ends", "us",
        Of("session-plain-1-path/udp-64-cpu/both"), None),
    figure("session_aes_cpu_udp_64", "session, AES-256-GCM, CPU time of a UDP packet of 64 B, both ends", "us",
        Of("session-aes-1-path/udp-64-cpu/both"), None),
    figure("veth_udp_64", "plain veth, UDP 64 B, < 1 % loss", "kpps", Of("veth/udp-64/rate"), None),
    figure("tunnel_udp_64", "tunnel, UDP 64 B, < 1 % loss", "kpps",
        Of("tunnel-1-path/udp-64/rate"), None),
    figure("veth_udp_1400", "plain veth, UDP 1400 B, < 1 % loss", "kpps",
        Of("veth/udp-1400/rate"), None),
    figure("tunnel_udp_1400", "tunnel, UDP 1400 B, < 1 % loss", "kpps",
        Of("tunnel-1-path/udp-1400/rate"), None),
    figure("veth_ping", "plain veth, ping, median", "ms", Of("veth/ping/median"), None),
    figure("tunnel_ping", "tunnel, ping, median", "ms", Of("tunnel-1-path/ping/median"), None),
    figure("veth_ping_p99", "plain veth, ping, 99th percentile", "ms", Of("veth/ping/p99"), None),
    figure("tunnel_ping_p99", "tunnel, ping, 99th percentile", "ms", Of("tunnel-1-path/ping/p99"), None),
];

/// Ids of the criterion benchmarks in mpt-core that send one packet each.
const CONNECTIONS_1: &str = "criterion/endpoint_send/1";
const CONNECTIONS_1000: &str = "criterion/endpoint_send/1000";
/// Ids of the criterion benchmarks in mpt-core that receive one packet each.
const RECEIVE_1: &str = "criterion/endpoint_receive/1";
const RECEIVE_1000: &str = "criterion/endpoint_receive/1000";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::stages::{Carrier, GROUPS, Measure};
    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = FIGURES.iter().map(|figure| figure.name).collect();
        assert_eq!(names.len(), FIGURES.len());
    }

    #[test]
    fn every_figure_is_made_of_something_that_is_measured() {
        let mut measured = BTreeSet::from(
            [CONNECTIONS_1, CONNECTIONS_1000, RECEIVE_1, RECEIVE_1000].map(str::to_owned),
        );
        for stage in GROUPS.iter().copied().flatten() {
            for measure in stage.measures {
                let name = format!("{}/{}", stage.name, measure.name());
                measured.extend(match measure {
                    Measure::IdleMemory => vec![name],
                    Measure::Ping => vec![format!("{name}/median"), format!("{name}/p99")],
                    Measure::UdpCpu { .. } => vec![format!("{name}/both")],
                    Measure::Tcp { .. } if matches!(stage.carrier, Carrier::Tunnel(_)) => vec![
                        format!("{name}/rate"),
                        format!("{name}/cpu-send"),
                        format!("{name}/cpu-receive"),
                    ],
                    Measure::Tcp { .. } | Measure::Udp { .. } => vec![format!("{name}/rate")],
                });
            }
        }
        for figure in FIGURES {
            let names = match figure.value {
                Of(name) => vec![name],
                Ratio(a, b) | Difference(a, b) => vec![a, b],
                Largest(_) => vec![],
            };
            for name in names {
                assert!(measured.contains(name), "{}: nobody measures {name}", figure.name);
            }
        }
    }

    #[test]
    fn turns_are_compared_with_themselves() {
        let mut samples = Samples::default();
        for (tunnel, veth) in [(8.0, 40.0), (9.0, 30.0)] {
            samples.add("tunnel", tunnel);
            samples.add("veth", veth);
        }
        assert_eq!(Ratio("tunnel", "veth").each(&samples), [0.2, 0.3]);
        assert_eq!(Difference("veth", "tunnel").each(&samples), [32.0, 21.0]);
        assert_eq!(Of("veth").each(&samples), [40.0, 30.0]);
        assert!(Largest("veth").each(&samples).is_empty());
        samples.add("veth", 20.0);
        assert!(Ratio("tunnel", "veth").each(&samples).is_empty(), "one turn lacks a value");
        assert_eq!(Ratio("tunnel", "veth").from(&samples), Some(8.5 / 30.0), "of the medians");
        samples.add("tunnel", 10.0);
        assert_eq!(Ratio("tunnel", "veth").from(&samples), Some(0.3), "of 0.2, 0.3 and 0.5");
        assert_eq!(Difference("veth", "tunnel").from(&samples), Some(21.0));
    }

    #[test]
    fn limits_count_as_reached() {
        let more = Target::AtLeast { must: 0.2, goal: 0.35 };
        assert!(more.reached(0.2, more.must()) && !more.reached(0.2, more.goal()));
        let less = Target::AtMost { must: 0.75, goal: 0.45 };
        assert!(less.reached(0.75, less.must()) && !less.reached(0.75, less.goal()));
        assert!(!more.reached(f64::NAN, more.must()) && !less.reached(f64::NAN, less.must()));
    }
}
