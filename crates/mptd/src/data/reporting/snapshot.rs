//! The state of everything, in the words of the control API.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mpt_api::Offload;
use mpt_api::snapshot as api;
use mpt_config as config;
use mpt_core::path::mtu;
use mpt_core::reorder::EqualizedBuffer;
use mpt_core::{Connection, DownReason, DownReasons, Path, PathId, QueueState, Remote, Traffic};
use mpt_wire::control::Economy;

use crate::data::DataPath;
use crate::data::measurement::rates::{RATE_PERIOD, Rate};
use crate::data::memory::buffers::PacketRef;
use crate::data::system::{SuperPacketDevice, System};

impl<S: System> DataPath<S> {
    pub(in crate::data) fn take_rates(&mut self, now: Instant) {
        let mut rates = BTreeMap::new();
        for (id, path) in self.node.tunnels().paths() {
            let mut rate = self.rates.paths.get(&id).copied().unwrap_or_default();
            rate.sent.take(path.sent());
            rate.received.take(path.received());
            rates.insert(id, rate);
        }
        self.rates.paths = rates;
        self.tick_path_mtus(now);
        if self.store.trim() {
            self.system.release_memory();
        }
        self.next_rates = now + RATE_PERIOD;
    }

    /// Returns the bytes of packet buffers in use and the most there may be.
    pub(crate) fn buffer_bytes(&self) -> (u64, u64) {
        (self.ingress.buffers().used() as u64, self.ingress.buffers().limit() as u64)
    }

    /// Returns the packets dropped before their connection was known.
    pub(crate) fn drops(&self) -> api::Counters {
        let (ingress, egress) = (self.ingress.counters(), self.egress.counters());
        let mut drops = counters(
            self.node
                .tunnels()
                .datagram_drops()
                .iter()
                .chain(self.node.tunnels().inner_drops().iter()),
        );
        let own = [
            ("receive_truncated", ingress.truncated),
            ("receive_waited", self.ingress.dropped_for_backlog()),
            ("device_malformed", egress.malformed),
            ("icmp_too_big", self.icmp.too_big),
            ("icmp_short_quote", self.icmp.short_quote),
            ("icmp_not_ours", self.icmp.not_ours),
            ("icmp_unreachable", self.icmp.unreachable),
            ("icmp_other", self.icmp.other),
        ];
        drops.extend(own.map(|(name, value)| (name.to_owned(), value)));
        drops.extend(self.prototype_drops());
        drops
    }

    /// A device, `None` while it does not exist.
    pub(crate) fn show_device(
        &self,
        all: &config::Config,
        config: &config::Device,
    ) -> Option<api::Device> {
        let mut devices = self.devices.iter().flatten();
        let device = devices.find(|device| device.tun.name() == config.name)?;
        let offloads = device.tun.offloads();
        let granted = [(Offload::Tso, offloads.tso), (Offload::Uso, offloads.uso)];
        Some(api::Device {
            name: config.name.clone(),
            addresses: config.addresses.clone(),
            mtu: all.device_mtu(config, self.inner_mtu(&config.name)).unwrap_or(0),
            offloads: granted
                .into_iter()
                .filter(|(_, on)| *on)
                .map(|(offload, _)| offload)
                .collect(),
            drops: counters([("write_failed", device.write_failed)].into_iter()),
        })
    }

    fn show_short_flows(&self, (path, bytes): (PathId, u64)) -> Option<mpt_api::ShortFlows> {
        let path = self.node.tunnels().path(path)?.name().to_owned();
        Some(mpt_api::ShortFlows { path, bytes })
    }

    /// A connection, `None` while it does not exist.
    pub(crate) fn show_connection(&self, config: &config::Connection) -> Option<api::Connection> {
        let id = self.node.tunnels().find_connection(&config.name)?;
        let connection = self.node.tunnels().connection(id)?;
        let paths: Vec<api::Path> = config
            .paths
            .iter()
            .filter_map(|path| self.show_path(path, self.node.tunnels().find_path(id, &path.name)?))
            .collect();
        let up = paths.iter().filter(|path| path.state == api::PathState::Up).count();
        let sum = |field: fn(&api::Path) -> api::Traffic| {
            paths.iter().map(field).fold(api::Traffic::default(), |sum, traffic| api::Traffic {
                packets: sum.packets + traffic.packets,
                bytes: sum.bytes + traffic.bytes,
                packets_per_second: sum.packets_per_second + traffic.packets_per_second,
                bits_per_second: sum.bits_per_second + traffic.bits_per_second,
            })
        };
        let received = sum(|path| path.received);
        let mut sent = sum(|path| path.sent);
        let once = connection.sent();
        if once.packets < sent.packets {
            // Copies of duplicate mapping count once, in the rates as well.
            let share = |value: u64| {
                (u128::from(value) * u128::from(once.packets) / u128::from(sent.packets)) as u64
            };
            sent.packets_per_second = share(sent.packets_per_second);
            sent.bits_per_second = share(sent.bits_per_second);
        }
        (sent.packets, sent.bytes) = (once.packets, once.bytes);
        Some(api::Connection {
            name: config.name.clone(),
            device: config.device.clone(),
            state: match up {
                0 => api::ConnectionState::Down,
                _ if up == paths.len() => api::ConnectionState::Up,
                _ => api::ConnectionState::Degraded,
            },
            networks: config.networks.clone(),
            key: config.key,
            direction: config.direction,
            mapping: config.mapping,
            sequence: config.sends_sequence(),
            checksum: config.checksum,
            ecn: config.ecn,
            mtu: connection.inner_mtu(),
            sent,
            received,
            queue: connection.queue().as_ref().map(show_queue),
            short_flows: connection.short_flows().and_then(|it| self.show_short_flows(it)),
            reorder: show_reorder(&config.reorder, connection),
            drops: connection_drops(connection),
            remarks: counters(connection.remarks().iter().chain(connection.corrected().iter())),
            session: self.show_session(id, config),
            // The control side knows.
            disagreement: None,
            compat: self.show_prototype(config),
            paths,
        })
    }

    /// True if a path of this connection is up.
    pub(crate) fn works(&self, config: &config::Connection) -> bool {
        config.paths.iter().any(|path| {
            let id = self.find_path(&config.name, &path.name).ok();
            let path = id.and_then(|id| self.node.tunnels().path(id));
            path.is_some_and(|path| path.down_reasons().is_empty())
        })
    }

    fn show_path(&self, config: &config::Path, id: PathId) -> Option<api::Path> {
        let path = self.node.tunnels().path(id)?;
        let io = self.paths.get(id)?;
        let rates = self.rates.paths.get(&id).copied().unwrap_or_default();
        let send = io.counters();
        // A name that is not resolved yet has a placeholder for its address.
        let known = !matches!(config.remote, config::Remote::Name { address: None, .. });
        Some(api::Path {
            name: config.name.clone(),
            state: path_state(path.down_reasons()),
            down: down_reason(path.down_reasons()),
            local: self.sockets.local(io.listening),
            interface: config.interface.clone(),
            remote: Some(io.wiring.remote).filter(|it| known && !it.ip().is_unspecified()),
            remote_name: config.remote.name().map(str::to_owned),
            remote_learned: matches!(path.config().remote, Remote::Found(_)),
            source_ports: io
                .channels
                .iter()
                .filter_map(|channel| Some(self.sockets.local(channel.socket)?.port()))
                .collect(),
            heard_from: path.heard_from(),
            weight: path.config().weight_out,
            weight_in: path.config().weight_in,
            lead_us: self.node.tunnels().path_lead(id).as_micros() as u64,
            tier: path.config().tier,
            max_rate: path.config().rates.greatest(),
            min_rate: path.config().rates.least(),
            metered: path.economy_of_both().contains(Economy::METERED),
            last_resort: path.economy_of_both().contains(Economy::LAST_RESORT),
            // The control side knows.
            cap: None,
            mtu: path.mtu(),
            mtu_source: self.mtu_source(config, path, id),
            mtu_expires_ms: io
                .reported
                .left(self.system.now())
                .map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            ipv6: self.carries_ipv6(path),
            sent: traffic(path.sent(), rates.sent),
            received: traffic(path.received(), rates.received),
            drops: counters(
                [
                    ("socket_full", send.full),
                    ("queue_dropped", send.queue_dropped),
                    ("too_big", send.too_big),
                    ("send_failed", send.failed),
                ]
                .into_iter(),
            ),
            liveness: self.show_liveness(id),
            estimate: self.estimate(path, id),
            repairs: self.repairs(path, id),
        })
    }
}

impl<S: System> DataPath<S> {
    /// Returns the source of the MTU of a path.
    fn mtu_source(&self, config: &config::Path, path: &Path, id: PathId) -> api::MtuSource {
        let io = self.paths.get(id);
        let session = self.node.sessions().session_of(path.connection());
        let view = session.and_then(|session| self.node.sessions().path(session, id));
        if io.is_some_and(|io| io.reported.is_some()) {
            api::MtuSource::Reported
        } else if view.is_some_and(|view| view.mtu_confirmed || path.mtu() < path.config().mtu) {
            api::MtuSource::Probed
        } else if config.mtu.is_some() {
            api::MtuSource::Configured
        } else {
            api::MtuSource::Interface
        }
    }

    /// Returns what is learnt of a path.
    fn estimate(&self, path: &Path, id: PathId) -> Option<mpt_api::Estimate> {
        let connection = self.node.tunnels().connection(path.connection())?;
        let mut estimates = connection.estimates(self.system.now());
        let (_, estimate) = estimates.find(|&(of, _)| of == id)?;
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Some(mpt_api::Estimate {
            rate: estimate.rate,
            bottleneck_seen: estimate.bottleneck_seen,
            delivered: estimate.delivered,
            queue_us: micros(estimate.queue),
            jitter_us: micros(estimate.jitter),
            rtt_us: micros(estimate.rtt),
            lost_per_million: (estimate.loss * 1e6) as u32,
            cuts: estimate.cuts,
            idle_ms: estimate.idle.map(|idle| u64::try_from(idle.as_millis()).unwrap_or(u64::MAX)),
        })
    }

    /// Returns what was lost on a path, and sent again over it.
    fn repairs(&self, path: &Path, id: PathId) -> Option<mpt_api::Repairs> {
        let connection = self.node.tunnels().connection(path.connection())?;
        if connection.config().repair == mpt_core::Repair::Off {
            return None;
        }
        let (_, repairs) = connection.repairs().find(|&(of, _)| of == id)?;
        let mpt_core::RepairCounters { lost, repaired, late, refused, sent, bytes } = repairs;
        Some(mpt_api::Repairs { lost, repaired, late, refused, sent, sent_bytes: bytes })
    }

    /// True if a path is wide enough for IPv6.
    fn carries_ipv6(&self, path: &Path) -> bool {
        let connection = self.node.tunnels().connection(path.connection());
        connection.is_some_and(|connection| {
            let encapsulation = connection.config().encapsulation();
            mtu::inner(path.mtu(), path.config().outer(), encapsulation) >= mtu::IPV6_MINIMUM
        })
    }
}

/// Says whether a path with these reasons to be down carries packets.
pub(super) fn path_state(reasons: DownReasons) -> api::PathState {
    match reasons.first() {
        None => api::PathState::Up,
        Some(DownReason::Unproven) => api::PathState::Probing,
        Some(_) => api::PathState::Down,
    }
}

/// Returns the reason that is named, see [`DownReasons::first`].
pub(super) fn down_reason(reasons: DownReasons) -> Option<api::DownReason> {
    reasons.first().map(|reason| match reason {
        DownReason::Administrative => api::DownReason::Administrative,
        DownReason::Unresolved => api::DownReason::Unresolved,
        DownReason::Interface => api::DownReason::Interface,
        DownReason::Peer => api::DownReason::Peer,
        DownReason::Dead => api::DownReason::Dead,
        DownReason::Unproven => api::DownReason::Unproven,
        DownReason::Cap => api::DownReason::Cap,
    })
}

fn traffic(total: Traffic, rate: Rate) -> api::Traffic {
    let period = RATE_PERIOD.as_secs().max(1);
    api::Traffic {
        packets: total.packets,
        bytes: total.bytes,
        packets_per_second: rate.step.packets / period,
        bits_per_second: rate.step.bytes * 8 / period,
    }
}

fn show_reorder(config: &config::Reorder, connection: &Connection<PacketRef>) -> api::Reorder {
    let (equalized, reorder) = (connection.equalized(), connection.reorder());
    let counters = reorder.map(|reorder| *reorder.counters()).unwrap_or_default();
    let delays = reorder.map(|reorder| reorder.delays());
    let (window, max_delay) =
        equalized.map_or_else(|| (config.window(), config.max_delay()), EqualizedBuffer::bounds);
    let micros = |quantile: f64| {
        delays.as_ref().map_or(0, |delays| delays.quantile(quantile).as_micros() as u64)
    };
    api::Reorder {
        window,
        max_delay_us: max_delay.as_micros() as u64,
        early_release: config.early_release,
        late_policy: config.late,
        equalize: config.equalize,
        waiting: equalized.map_or(0, |it| it.waiting() as u64),
        in_order: counters.in_order,
        after_gap: counters.after_gap,
        late: counters.late,
        ahead: counters.ahead,
        early: counters.early,
        duplicate: counters.duplicate,
        overflow: counters.overflow,
        stray: counters.stray,
        equalized: equalized.map_or(0, EqualizedBuffer::equalized),
        delays: api::Delays { p50_us: micros(0.5), p99_us: micros(0.99), max_us: micros(1.0) },
    }
}

fn show_queue(queue: &QueueState) -> mpt_api::Queue {
    let QueueState { bytes, segments, flows, counters, .. } = *queue;
    mpt_api::Queue {
        bytes: bytes as u64,
        packets: segments as u64,
        flows: flows as u64,
        left: counters.left,
        marked: counters.marked,
        dropped: counters.dropped,
        overflowed: counters.overflowed,
        superseded: counters.superseded,
    }
}

fn connection_drops(connection: &Connection<PacketRef>) -> api::Counters {
    let drops = connection.inner_drops().iter().chain(connection.datagram_drops().iter());
    counters(drops)
}

/// Puts counters under their names. Those of the same name, one for packets from the device and one for packets from the
/// network, are added up.
pub(in crate::data) fn counters<'a>(all: impl Iterator<Item = (&'a str, u64)>) -> api::Counters {
    let mut sums = api::Counters::new();
    for (name, value) in all {
        *sums.entry(name.to_owned()).or_default() += value;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_of_both_directions_is_their_sum_and_zeros_are_told() {
        let all = counters([("malformed", 2), ("ecn", 0), ("malformed", 0)].into_iter());
        assert_eq!(all, [("malformed".to_owned(), 2), ("ecn".to_owned(), 0)].into());
    }
}
