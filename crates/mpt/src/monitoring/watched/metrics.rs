//! The counters and measurements of a daemon, as OpenMetrics.
//!
//! The names of all series follow from the daemon's own counters and the names of connections and paths, so their number is bounded by the
//! configuration. A counter, once shown, stays: also with its last value while the daemon does not answer, and after its connection or path has been removed.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mpt_api::snapshot::{
    Connection, ConnectionState, DataState, Path, PathState, SessionState, Snapshot,
};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::monitoring::measured::Measured;

/// The content type of OpenMetrics.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The most removed connections, and the most removed paths, whose counters are still shown. The oldest make room.
const MOST_GONE: usize = 1_000;

/// Upper bounds of the buckets of round-trip times, in seconds: from a local network to a satellite.
const RTT_BUCKETS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, f64::INFINITY];

/// The distribution of the round-trip times of a path, one sample for each answer.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    sum: f64,
    /// The samples in each bucket, without those in the buckets before it.
    counts: [u64; RTT_BUCKETS.len()],
}

impl Samples {
    fn add(&mut self, seconds: f64) {
        self.sum += seconds;
        if let Some(bucket) = RTT_BUCKETS.iter().position(|&bound| seconds <= bound) {
            self.counts[bucket] += 1;
        }
    }
}

type Counter<T> = (&'static str, &'static str, fn(&T) -> Option<u64>);
type Gauge<T> = (&'static str, &'static str, fn(&T) -> Option<f64>);

const CONNECTION_COUNTERS: [Counter<Connection>; 11] = [
    ("sent_packets", "Inner packets sent", |it| Some(it.sent.packets)),
    ("sent_bytes", "Bytes of inner packets sent", |it| Some(it.sent.bytes)),
    ("received_packets", "Inner packets received and delivered", |it| Some(it.received.packets)),
    ("received_bytes", "Bytes of inner packets received and delivered", |it| {
        Some(it.received.bytes)
    }),
    ("in_order_packets", "Packets delivered in sequence", |it| Some(it.reorder.in_order)),
    ("after_gap_packets", "Packets delivered after numbers before them were given up", |it| {
        Some(it.reorder.after_gap)
    }),
    ("late_packets", "Packets that arrived after their number was given up", |it| {
        Some(it.reorder.late)
    }),
    ("duplicate_packets", "Packets that arrived twice", |it| Some(it.reorder.duplicate)),
    ("queue_left_packets", "Packets that waited for room on the paths and have left", |it| {
        it.queue.map(|it| it.left)
    }),
    ("queue_dropped_packets", "Packets dropped from the queue of the connection", |it| {
        it.queue.map(|it| it.dropped.saturating_add(it.overflowed))
    }),
    (
        "queue_superseded_packets",
        "TCP acknowledgements dropped since a later one that waited said all that they did",
        |it| it.queue.map(|it| it.superseded),
    ),
];

const CONNECTION_GAUGES: [Gauge<Connection>; 7] = [
    ("up", "Whether every path carries packets", |it| truth(it.state == ConnectionState::Up)),
    ("carries", "Whether any path carries packets", |it| {
        truth(matches!(it.state, ConnectionState::Up | ConnectionState::Degraded))
    }),
    ("session_established", "Whether the session with the peer is set up", |it| {
        truth(it.session.as_ref()?.state == SessionState::Established)
    }),
    ("sealed", "Whether data is encrypted and authenticated", |it| {
        let data = it.session.as_ref().and_then(|it| it.data);
        truth(matches!(data, Some(DataState::Aes256Gcm | DataState::Chacha20Poly1305)))
    }),
    ("mtu_bytes", "Largest inner packet that fits every path", |it| Some(f64::from(it.mtu))),
    ("queue_packets", "Packets that wait for room on the paths", |it| {
        it.queue.map(|it| it.packets as f64)
    }),
    ("reorder_waiting_packets", "Packets that wait in the reorder window", |it| {
        Some(it.reorder.waiting as f64)
    }),
];

const PATH_COUNTERS: [Counter<Path>; 8] = [
    ("sent_packets", "Inner packets sent on the path", |it| Some(it.sent.packets)),
    ("sent_bytes", "Bytes of inner packets sent on the path", |it| Some(it.sent.bytes)),
    ("received_packets", "Inner packets received on the path", |it| Some(it.received.packets)),
    ("received_bytes", "Bytes of inner packets received on the path", |it| Some(it.received.bytes)),
    ("deaths", "How often the path was found dead", |it| it.liveness.map(|it| it.flaps)),
    ("lost_packets", "Packets lost on the path while the sender repaired", |it| {
        it.repairs.map(|it| it.lost)
    }),
    ("repaired_packets", "Lost packets that arrived after they were sent again", |it| {
        it.repairs.map(|it| it.repaired)
    }),
    ("rate_cuts", "How often the rate of the path was cut because a queue stood", |it| {
        it.estimate.map(|it| it.cuts)
    }),
];

const PATH_GAUGES: [Gauge<Path>; 14] = [
    ("up", "Whether the path carries packets", |it| truth(it.state == PathState::Up)),
    ("weight", "Share of the packets sent", |it| Some(f64::from(it.weight))),
    ("tier", "Tier of the path; 0 carries data first", |it| Some(f64::from(it.tier))),
    ("last_resort", "Whether the path carries data only while no other one works", |it| {
        truth(it.last_resort)
    }),
    ("metered", "Whether traffic on the path is paid for", |it| truth(it.metered)),
    ("cap_bytes", "Bytes that the path may carry in the period of its cap", |it| {
        it.cap.map(|cap| cap.limit as f64)
    }),
    ("cap_used_bytes", "Bytes that count towards the cap of the path", |it| {
        it.cap.map(|cap| cap.used as f64)
    }),
    ("mtu_bytes", "Largest outer packet", |it| Some(f64::from(it.mtu))),
    ("rtt_seconds", "Smoothed round-trip time", |it| seconds(Measured::of(it).rtt_us)),
    ("jitter_seconds", "Variation of the delay", |it| seconds(Measured::of(it).jitter_us)),
    ("loss_ratio", "Recent packets lost, from 0 to 1", |it| {
        Measured::of(it).lost_per_million.map(|lost| f64::from(lost) / 1e6)
    }),
    ("queue_seconds", "Time that packets wait in the queue of the line", |it| {
        seconds(Measured::of(it).queue_us)
    }),
    ("rate_bits_per_second", "Rate at which the path is given packets", |it| {
        it.estimate.map(|it| it.rate as f64)
    }),
    ("delivered_bits_per_second", "Latest rate at which packets have arrived at the peer", |it| {
        it.estimate.map(|it| it.delivered as f64)
    }),
];

fn seconds(us: Option<u64>) -> Option<f64> {
    us.map(|us| us as f64 / 1e6)
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "a value that is always there among those that may be missing"
)]
fn truth(value: bool) -> Option<f64> {
    Some(f64::from(u8::from(value)))
}

/// The metrics of a daemon, as text.
pub(crate) struct Metrics {
    registry: Registry,
    daemon: Arc<Collected>,
    /// The length of the last text: the next one is about as long.
    length: AtomicUsize,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Returns those of a daemon that has not answered yet.
    pub(crate) fn new() -> Metrics {
        let daemon = Arc::new(Collected::default());
        let mut registry = Registry::default();
        registry.register_collector(Box::new(daemon.clone()));
        Metrics { registry, daemon, length: AtomicUsize::new(0) }
    }

    /// Takes what the daemon answered; `None` when it does not answer.
    pub(crate) fn update(&self, snapshot: Option<&Snapshot>) {
        self.daemon.seen().update(snapshot);
    }

    /// Returns everything as OpenMetrics.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(self.length.load(Ordering::Relaxed) + 4_096);
        prometheus_client::encoding::text::encode(&mut text, &self.registry)
            .expect("writing to memory does not fail");
        self.length.store(text.len(), Ordering::Relaxed);
        text
    }
}

/// The metrics of a daemon.
#[derive(Debug, Default)]
struct Collected(Mutex<Seen>);

impl Collected {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// True if the daemon answered when it was asked last.
    alive: bool,
    /// Its last answer.
    snapshot: Option<Snapshot>,
    /// Connections that were removed; their counters stay.
    gone: VecDeque<Connection>,
    /// Paths that were removed, with the names of their connections.
    gone_paths: VecDeque<(String, Path)>,
    /// The round-trip times by the names of connection and path, as long as the path is shown.
    round_trips: BTreeMap<(String, String), Samples>,
}

impl Seen {
    fn update(&mut self, snapshot: Option<&Snapshot>) {
        self.alive = snapshot.is_some();
        let Some(new) = snapshot else { return };
        let connections: HashSet<&str> = new.connections.iter().map(|it| &*it.name).collect();
        let paths: HashSet<(&str, &str)> = (new.connections.iter())
            .flat_map(|it| it.paths.iter().map(|path| (&*it.name, &*path.name)))
            .collect();
        // A connection or a path that has come back is counted by itself again.
        self.gone.retain(|it| !connections.contains(&*it.name));
        self.gone_paths.retain(|(connection, path)| !paths.contains(&(connection, &path.name)));
        for mut old in self.snapshot.replace(new.clone()).into_iter().flat_map(|it| it.connections)
        {
            let name = old.name.clone();
            let lost = old.paths.drain(..).filter(|path| !paths.contains(&(&name, &path.name)));
            self.gone_paths.extend(lost.map(|path| (name.clone(), path)));
            if !connections.contains(&*name) {
                self.gone.push_back(old);
            }
        }
        self.gone.drain(..self.gone.len().saturating_sub(MOST_GONE));
        self.gone_paths.drain(..self.gone_paths.len().saturating_sub(MOST_GONE));
        self.sample();
    }

    /// Takes the round-trip times of the paths that are up.
    fn sample(&mut self) {
        let mut before = std::mem::take(&mut self.round_trips);
        let mut samples = BTreeMap::new();
        for (connection, path) in self.all_paths() {
            let key = (connection.to_owned(), path.name.clone());
            let of_it: Samples = before.remove(&key).unwrap_or_default();
            samples.insert(key, of_it);
        }
        for (connection, path) in self.present_paths() {
            let rtt =
                path.liveness.and_then(|it| it.rtt_us).filter(|_| path.state == PathState::Up);
            let key = (connection.to_owned(), path.name.clone());
            if let (Some(us), Some(of_it)) = (rtt, samples.get_mut(&key)) {
                of_it.add(us as f64 / 1e6);
            }
        }
        self.round_trips = samples;
    }

    /// Connections that there are.
    fn present(&self) -> impl Iterator<Item = &Connection> {
        self.snapshot.iter().flat_map(|it| &it.connections)
    }

    /// The paths that there are, with the names of their connections.
    fn present_paths(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.present().flat_map(|it| it.paths.iter().map(|path| (&*it.name, path)))
    }

    /// Connections that there are or were.
    fn all(&self) -> impl Iterator<Item = &Connection> {
        self.present().chain(&self.gone)
    }

    /// Paths that there are or were.
    fn all_paths(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.present_paths().chain(self.gone_paths.iter().map(|(name, path)| (&**name, path)))
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut single = |name: &str, help: &str, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
        };
        single("mpt_up", "Whether the daemon answers", f64::from(u8::from(self.alive)))?;
        let Some(snapshot) = &self.snapshot else { return Ok(()) };
        let daemon = &snapshot.daemon;
        if self.alive {
            single("mpt_uptime_seconds", "Time since the daemon started", daemon.uptime_s as f64)?;
            let used = daemon.buffer_bytes as f64;
            single("mpt_buffer_bytes", "Packet buffers in use", used)?;
            let limit = daemon.buffer_limit as f64;
            single("mpt_buffer_limit_bytes", "The most packet buffers that may be in use", limit)?;
        }
        let help = "Packets dropped before they were assigned to a connection";
        counters(
            encoder,
            "mpt_drops",
            help,
            daemon.drops.iter().map(|(cause, &count)| ([("cause", &**cause)], count)),
        )?;
        let help = "What the control protocol did and refused";
        counters(
            encoder,
            "mpt_control",
            help,
            daemon.control.iter().map(|(kind, &count)| ([("kind", &**kind)], count)),
        )?;

        for (name, help, value) in CONNECTION_COUNTERS {
            let values =
                self.all().filter_map(|it| Some(([("connection", &*it.name)], value(it)?)));
            counters(encoder, &format!("mpt_connection_{name}"), help, values)?;
        }
        let drops = self.all().flat_map(|it| {
            it.drops
                .iter()
                .map(|(cause, &count)| ([("connection", &*it.name), ("cause", &**cause)], count))
        });
        counters(encoder, "mpt_connection_drops", "Packets dropped, by cause", drops)?;
        for (name, help, value) in PATH_COUNTERS {
            let values = self.all_paths().filter_map(|(connection, it)| {
                Some(([("connection", connection), ("path", &*it.name)], value(it)?))
            });
            counters(encoder, &format!("mpt_path_{name}"), help, values)?;
        }
        let drops = self.all_paths().flat_map(|(connection, it)| {
            it.drops.iter().map(move |(cause, &count)| {
                ([("connection", connection), ("path", &*it.name), ("cause", &**cause)], count)
            })
        });
        counters(encoder, "mpt_path_drops", "Packets dropped on the path, by cause", drops)?;
        let help = "Round-trip times of the path, one sample for each answer of the daemon";
        let name = "mpt_path_rtt_samples_seconds";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for ((connection, path), samples) in &self.round_trips {
            let labels = [("connection", &**connection), ("path", &**path)];
            let count = samples.counts.iter().sum();
            let buckets: [(f64, u64); RTT_BUCKETS.len()] =
                std::array::from_fn(|at| (RTT_BUCKETS[at], samples.counts[at]));
            let mut encoder = family.encode_family(&labels)?;
            encoder.encode_histogram::<NoLabelSet>(samples.sum, count, &buckets, None)?;
        }
        if !self.alive {
            // The measurements of a daemon that no longer answers are out of date.
            return Ok(());
        }
        for (name, help, value) in CONNECTION_GAUGES {
            let values =
                self.present().filter_map(|it| Some(([("connection", &*it.name)], value(it)?)));
            gauges(encoder, &format!("mpt_connection_{name}"), help, values)?;
        }
        for (name, help, value) in PATH_GAUGES {
            let values = self.present_paths().filter_map(|(connection, it)| {
                Some(([("connection", connection), ("path", &*it.name)], value(it)?))
            });
            gauges(encoder, &format!("mpt_path_{name}"), help, values)?;
        }
        Ok(())
    }
}

fn counters<'a, const LABELS: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = ([(&'static str, &'a str); LABELS], u64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in values {
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
    }
    Ok(())
}

fn gauges<'a, const LABELS: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = ([(&'static str, &'a str); LABELS], f64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        family.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.seen().encode(&mut encoder)
    }
}

#[cfg(test)]
mod tests;
