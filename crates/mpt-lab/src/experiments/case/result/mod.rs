//! The result of one measurement, and the way from observations to its figures.

pub(super) mod analysis;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::CaseSpec;

/// The result of one measurement, with everything needed to judge it: one JSON file each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseResult {
    /// The specification of the measurement.
    pub(crate) spec: CaseSpec,
    /// Single figures by name; [`metric`] has the names and units.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Figures over time by name.
    pub(crate) series: BTreeMap<String, Series>,
    /// Growth of counters during the measurement: those of both daemons' connections, paths and reorder buffers, the TAPs, the links and the hosts'
    /// sockets. Names are `host/thing/counter`.
    pub(crate) counters: BTreeMap<String, u64>,
    /// Reasons why a figure is not what it seems to be. One that was limited by the machine or by the emulator must not be presented as a figure of
    /// the network.
    pub(crate) flags: Vec<Flag>,
    /// The environment of the measurement.
    pub(crate) environment: Environment,
    /// Time at which it began, in seconds since 1970.
    pub(crate) began: u64,
    /// Duration in seconds, building and removing the network included.
    pub(crate) took: f64,
}

/// Figures at equal intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    /// Unit of the values, for axes.
    pub(crate) unit: String,
    /// Seconds between two values.
    pub(crate) step: f64,
    /// The values; the first is that of the first interval.
    pub(crate) values: Vec<f64>,
}

/// A reason why a figure is not what it seems to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub(crate) enum Flag {
    /// The processors were saturated.
    CpuSaturated {
        /// Part of the time in which the machine's processors were idle.
        idle: f64,
    },
    /// The emulator was late by more than its limit.
    EmulatorLate {
        /// The 99th percentile of its lateness, in seconds.
        p99: f64,
    },
    /// Packets were lost where no link is: in queues of devices or sockets. The run fails.
    HiddenLoss {
        /// Name of the counter.
        counter: String,
        /// Its growth.
        packets: u64,
    },
    /// The measurement differs from what the experiment asks for.
    Deviation {
        /// The deviation, as a sentence.
        what: String,
    },
    /// The measurement ended without a figure.
    Failed {
        /// The reason.
        why: String,
    },
}

/// The environment of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Environment {
    /// Version of this laboratory and of the daemon.
    pub(crate) mpt: String,
    /// Release of the kernel.
    pub(crate) kernel: String,
    /// Model and number of the processors, and whether they were kept awake.
    pub(crate) processors: String,
    /// Name and version of the backend that made the links.
    pub(crate) emulator: String,
    /// Versions of the programs that made the traffic.
    pub(crate) programs: BTreeMap<String, String>,
}

/// Names of the metrics, each with its unit.
pub(crate) mod metric {
    /// TCP or UDP payload that arrived, Mbit/s, over the whole measurement.
    pub(crate) const GOODPUT: &str = "goodput_mbit";
    /// TCP or UDP payload that arrived, Mbit/s, mean of seconds 3 to 10.
    pub(crate) const GOODPUT_3_TO_10: &str = "goodput_3_to_10_mbit";
    /// TCP or UDP payload that arrived, Mbit/s, mean of the part of the traffic that counts.
    pub(crate) const GOODPUT_COUNTED: &str = "goodput_counted_mbit";
    /// TCP payload of a flow beside the traffic that arrived, Mbit/s, mean of the part that counts.
    pub(crate) const RIVAL: &str = "rival_mbit";
    /// Seconds from a fall of the links' rates until the traffic has nine tenths of what they carry then, and keeps that.
    pub(crate) const REACHED_DOWN: &str = "reached_down_s";
    /// Seconds from a rise of the links' rates until the traffic has nine tenths of the new rates, and keeps them.
    pub(crate) const REACHED_UP: &str = "reached_up_s";
    /// Round-trip time of echo requests before the traffic, median, milliseconds.
    pub(crate) const PING_IDLE: &str = "ping_idle_ms";
    /// Round-trip time of echo requests beside the traffic, median, milliseconds.
    pub(crate) const PING_P50: &str = "ping_p50_ms";
    /// Round-trip time of echo requests beside the traffic, 95th percentile, milliseconds.
    pub(crate) const PING_P95: &str = "ping_p95_ms";
    /// Increase of [`PING_P50`] over [`PING_IDLE`].
    pub(crate) const PING_P50_ADDED: &str = "ping_p50_added_ms";
    /// Increase of [`PING_P95`] over [`PING_IDLE`].
    pub(crate) const PING_P95_ADDED: &str = "ping_p95_added_ms";
    /// Echo requests beside the traffic that were not answered, in percent.
    pub(crate) const PING_LOST: &str = "ping_lost_percent";
    /// Round-trip time of short messages over TCP before the traffic, median, milliseconds.
    pub(crate) const ECHO_IDLE: &str = "echo_idle_ms";
    /// Round-trip time of short messages over TCP beside the traffic, median, milliseconds.
    pub(crate) const ECHO_P50: &str = "echo_p50_ms";
    /// Round-trip time of short messages over TCP beside the traffic, 95th percentile, milliseconds.
    pub(crate) const ECHO_P95: &str = "echo_p95_ms";
    /// Increase of [`ECHO_P50`] over [`ECHO_IDLE`].
    pub(crate) const ECHO_P50_ADDED: &str = "echo_p50_added_ms";
    /// Increase of [`ECHO_P95`] over [`ECHO_IDLE`].
    pub(crate) const ECHO_P95_ADDED: &str = "echo_p95_added_ms";
    /// Short messages beside the traffic that never came back, in percent.
    pub(crate) const ECHO_LOST: &str = "echo_lost_percent";
    /// Seconds that a web page took before the traffic, median.
    pub(crate) const PAGE_IDLE: &str = "page_idle_s";
    /// Seconds that a web page took beside the traffic, median.
    pub(crate) const PAGE: &str = "page_s";
    /// [`PAGE`] over [`PAGE_IDLE`].
    pub(crate) const PAGE_RATIO: &str = "page_ratio";
    /// TCP segments that host `a` sent again, of all that it sent, in percent; without those that a queue of the tunnel dropped.
    pub(crate) const RETRANSMITTED: &str = "retransmitted_percent";
    /// Rate that host `a` gave to its links, Mbit/s of Ethernet frames.
    pub(crate) const LINKS: &str = "links_mbit";
    /// Bytes of repairs beyond 1.3 times those that the links lost, in percent of the bytes that host `a` sent.
    pub(crate) const REPAIR_EXCESS: &str = "repair_excess_percent";
    /// Packets that were sent again though they were only late, in percent of the packets that host `a` sent.
    pub(crate) const REPAIR_SPURIOUS: &str = "repair_spurious_percent";
    /// TCP segments that were sent again.
    pub(crate) const RETRANSMISSIONS: &str = "retransmissions";
    /// Length of the transient at the start, seconds (imareen2025, Tables 2 and 3).
    pub(crate) const TRANSIENT: &str = "transient_s";
    /// Round-trip times of echo requests, milliseconds.
    pub(crate) const RTT_MIN: &str = "rtt_min_ms";
    /// See [`RTT_MIN`].
    pub(crate) const RTT_AVG: &str = "rtt_avg_ms";
    /// See [`RTT_MIN`].
    pub(crate) const RTT_MAX: &str = "rtt_max_ms";
    /// See [`RTT_MIN`]; standard deviation.
    pub(crate) const RTT_SD: &str = "rtt_sd_ms";
    /// Round-trip time as TCP estimated it (RFC 6298: SRTT), mean over the measurement, milliseconds.
    pub(crate) const TCP_RTT: &str = "tcp_rtt_ms";
    /// Expected absolute variation of the inter-packet delay, milliseconds (imareen2023, eq. 1).
    pub(crate) const JITTER: &str = "jitter_ms";
    /// Packets sent that did not arrive, in percent.
    pub(crate) const LOSS: &str = "loss_percent";
    /// Packets that arrived out of order, in percent.
    pub(crate) const REORDERED: &str = "reordered_percent";
    /// One-way delay that half of the datagrams of a stream did not exceed, milliseconds.
    pub(crate) const DELAY_P50: &str = "delay_p50_ms";
    /// One-way delay that 99 % of the datagrams of a stream did not exceed, milliseconds.
    pub(crate) const DELAY_P99: &str = "delay_p99_ms";
    /// Seconds that a download took.
    pub(crate) const DOWNLOAD_TIME: &str = "download_s";
    /// The longest time without anything arriving after the first packet, milliseconds; of a TCP flow in steps of 100 ms.
    pub(crate) const LONGEST_GAP: &str = "longest_gap_ms";
    /// CPU seconds of both daemons for 10^9 bytes of payload that arrived.
    pub(crate) const CPU_PER_GB: &str = "cpu_s_per_gb";
    /// CPU seconds per second of the receiving daemon, in percent of one processor.
    pub(crate) const CPU_DAEMON_B: &str = "cpu_daemon_b_percent";
    /// CPU seconds per second of the sending daemon, in percent of one processor.
    pub(crate) const CPU_DAEMON_A: &str = "cpu_daemon_a_percent";
    /// CPU seconds per second of the emulator, in percent of one processor.
    pub(crate) const CPU_EMULATOR: &str = "cpu_emulator_percent";
    /// Part of the time in which all processors of the machine together were busy, in percent.
    pub(crate) const CPU_MACHINE: &str = "cpu_machine_percent";
    /// All metrics.
    pub(crate) const ALL: &[&str] = &[
        GOODPUT,
        GOODPUT_3_TO_10,
        GOODPUT_COUNTED,
        RIVAL,
        REACHED_DOWN,
        REACHED_UP,
        PING_IDLE,
        PING_P50,
        PING_P95,
        PING_P50_ADDED,
        PING_P95_ADDED,
        PING_LOST,
        ECHO_IDLE,
        ECHO_P50,
        ECHO_P95,
        ECHO_P50_ADDED,
        ECHO_P95_ADDED,
        ECHO_LOST,
        PAGE_IDLE,
        PAGE,
        PAGE_RATIO,
        RETRANSMITTED,
        LINKS,
        REPAIR_EXCESS,
        REPAIR_SPURIOUS,
        RETRANSMISSIONS,
        TRANSIENT,
        RTT_MIN,
        RTT_AVG,
        RTT_MAX,
        RTT_SD,
        TCP_RTT,
        JITTER,
        LOSS,
        REORDERED,
        DELAY_P50,
        DELAY_P99,
        DOWNLOAD_TIME,
        LONGEST_GAP,
        CPU_PER_GB,
        CPU_DAEMON_B,
        CPU_DAEMON_A,
        CPU_EMULATOR,
        CPU_MACHINE,
    ];
}
