//! The summary of a snapshot: one state for the whole, one for each connection, and the problems in plain words.

use std::net::SocketAddr;

use mpt_api::snapshot::{
    Connection, ConnectionState, DataState, DownReason, MtuSource, Path, PathState, SessionState,
};
use mpt_api::{Cap, Mapping, Snapshot};
use serde::Serialize;

use super::state::State;
use super::{cap, problems};
use crate::monitoring::measured::Measured;

/// Everything that `mpt status` says. Its JSON is documented in docs/operations.md, section 7.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// The state of all connections together.
    pub(crate) state: State,
    /// The daemon; `None` when it does not answer.
    pub(crate) daemon: Option<Process>,
    /// Problems that concern no single connection.
    pub(crate) problems: Vec<String>,
    /// The connections, in the order of the configuration.
    pub(crate) connections: Vec<Tunnel>,
}

/// The daemon's process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Process {
    /// Version of the program.
    pub(crate) program: String,
    /// Process id.
    pub(crate) pid: u32,
    /// Time since it started, in whole seconds.
    pub(crate) uptime_s: u64,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Tunnel {
    /// Its name.
    pub(crate) name: String,
    /// Its state; `down` also when the peer refuses plain data, so that none is carried.
    pub(crate) state: State,
    /// Its TUN device.
    pub(crate) device: String,
    /// Its mapping.
    pub(crate) mapping: Mapping,
    /// Public key of the peer; `None` without a session.
    pub(crate) peer: Option<String>,
    /// Name of the `[[client]]`; `None` for a connection of the configuration.
    pub(crate) client: Option<String>,
    /// State of the session; `None` without a session.
    pub(crate) session: Option<SessionState>,
    /// Time since the session was established, in whole seconds.
    pub(crate) established_s: Option<u64>,
    /// Protection of data; `None` without a session, which means that data is plain.
    pub(crate) data: Option<DataState>,
    /// Inner packets sent, in bit/s over the last second.
    pub(crate) sent_bits_per_second: u64,
    /// Inner packets received, in bit/s over the last second.
    pub(crate) received_bits_per_second: u64,
    /// Packets that wait for room on the paths; `None` without adaptive mapping.
    pub(crate) queue_packets: Option<u64>,
    /// Its problems, each a sentence.
    pub(crate) problems: Vec<String>,
    /// Its paths, in the order of the configuration.
    pub(crate) paths: Vec<Uplink>,
}

/// A path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Uplink {
    /// Its name.
    pub(crate) name: String,
    /// Its state.
    pub(crate) state: PathState,
    /// The reason why it is down.
    pub(crate) down: Option<DownReason>,
    /// Inner packets sent, in bit/s over the last second.
    pub(crate) sent_bits_per_second: u64,
    /// Inner packets received, in bit/s over the last second.
    pub(crate) received_bits_per_second: u64,
    /// Rate that it can carry, or has carried so far, in bit/s with outer headers; `None` without adaptive mapping.
    pub(crate) capacity_bits_per_second: Option<u64>,
    /// True if that capacity is known to be the most it carries.
    pub(crate) capacity_reached: bool,
    /// Smoothed round-trip time in microseconds; this and what else is measured is `None` while the path is down.
    pub(crate) rtt_us: Option<u64>,
    /// Variation of the delay in microseconds.
    pub(crate) jitter_us: Option<u64>,
    /// Recent packets lost, in a million; `None` without adaptive mapping, and while the path carries nothing.
    pub(crate) lost_per_million: Option<u32>,
    /// Time that packets wait in the path's own queue, in microseconds; `None` like the loss.
    pub(crate) queue_us: Option<u64>,
    /// Its part of what the connection sent in the last second, in percent; `None` while nothing was sent.
    pub(crate) share_percent: Option<u8>,
    /// Packets lost while the sender repaired; `None` where nothing is repaired.
    pub(crate) lost: Option<u64>,
    /// Lost packets that arrived after they were sent again.
    pub(crate) repaired: Option<u64>,
    /// The interface it is bound to.
    pub(crate) interface: Option<String>,
    /// Address and port from which it really sends; the first port of several.
    pub(crate) source: Option<SocketAddr>,
    /// Address and port to which it sends.
    pub(crate) remote: Option<SocketAddr>,
    /// Path MTU in bytes, of outer packets.
    pub(crate) mtu: u16,
    /// The source of the MTU.
    pub(crate) mtu_source: MtuSource,
    /// True if traffic on it is paid for.
    pub(crate) metered: bool,
    /// True if it carries data only while no other path works, whatever its tier.
    pub(crate) last_resort: bool,
    /// Its cap and the bytes that it has carried; `None` without a cap.
    pub(crate) cap: Option<Cap>,
    /// Seconds until its cap starts anew.
    pub(crate) cap_resets_s: Option<u64>,
}

impl Summary {
    /// Sums up a snapshot.
    pub(crate) fn of(snapshot: &Snapshot) -> Summary {
        let daemon = &snapshot.daemon;
        let tunnel = |connection| Tunnel::of(connection, daemon.time_ms);
        let connections: Vec<_> = snapshot.connections.iter().map(tunnel).collect();
        Summary {
            state: overall(&connections),
            daemon: Some(Process {
                program: daemon.program.clone(),
                pid: daemon.pid,
                uptime_s: daemon.uptime_s,
            }),
            problems: problems::daemon(daemon),
            connections,
        }
    }

    /// Returns the summary of a daemon that does not answer.
    pub(crate) fn unreachable(why: &str) -> Summary {
        Summary {
            state: State::Unreachable,
            daemon: None,
            problems: vec![why.to_owned()],
            connections: Vec::new(),
        }
    }

    /// Returns the rates of all connections together, sent and received, in bit/s.
    pub(crate) fn rates(&self) -> (u64, u64) {
        let sum = |rate: fn(&Tunnel) -> u64| {
            self.connections.iter().map(rate).fold(0, u64::saturating_add)
        };
        (sum(|it| it.sent_bits_per_second), sum(|it| it.received_bits_per_second))
    }
}

/// A daemon without connections is up: a server that waits for its clients has none.
fn overall(connections: &[Tunnel]) -> State {
    let all = |state| connections.iter().all(|it| it.state == state);
    match () {
        () if all(State::Up) => State::Up,
        () if all(State::Down) => State::Down,
        () => State::Degraded,
    }
}

impl Tunnel {
    fn of(connection: &Connection, now_ms: u64) -> Tunnel {
        let session = connection.session.as_ref();
        let data = session.and_then(|it| it.data);
        let state = match connection.state {
            _ if data == Some(DataState::Refused) => State::Down,
            ConnectionState::Up => State::Up,
            ConnectionState::Down => State::Down,
            ConnectionState::Degraded | ConnectionState::Unknown => State::Degraded,
        };
        let paths = &connection.paths;
        let sent: u128 = paths.iter().map(|it| u128::from(it.sent.bits_per_second)).sum();
        Tunnel {
            name: connection.name.clone(),
            state,
            device: connection.device.clone(),
            mapping: connection.mapping,
            peer: session.map(|it| it.peer.clone()),
            client: session.and_then(|it| it.client.clone()),
            session: session.map(|it| it.state),
            established_s: session.and_then(|it| it.established_s),
            data,
            sent_bits_per_second: connection.sent.bits_per_second,
            received_bits_per_second: connection.received.bits_per_second,
            queue_packets: connection.queue.map(|it| it.packets),
            problems: problems::connection(connection),
            paths: paths.iter().map(|path| Uplink::of(path, sent, now_ms)).collect(),
        }
    }
}

impl Uplink {
    /// Sums up a path of a connection whose paths sent `sent` bits in the last second, as it was at `now_ms`.
    fn of(path: &Path, sent: u128, now_ms: u64) -> Uplink {
        let measured = Measured::of(path);
        let estimate = path.estimate.as_ref();
        // "More than 0" would say nothing.
        let capacity = |it: &mpt_api::Estimate| match it.bottleneck_seen {
            true => Some(it.rate),
            false => Some(it.delivered).filter(|&rate| rate > 0),
        };
        let percent = (u128::from(path.sent.bits_per_second) * 100 + sent / 2).checked_div(sent);
        let source = path.local.map(|local| match path.source_ports.first() {
            Some(&port) => SocketAddr::new(local.ip(), port),
            None => local,
        });
        Uplink {
            name: path.name.clone(),
            state: path.state,
            down: path.down,
            sent_bits_per_second: path.sent.bits_per_second,
            received_bits_per_second: path.received.bits_per_second,
            capacity_bits_per_second: estimate.and_then(capacity),
            capacity_reached: estimate.is_some_and(|it| it.bottleneck_seen),
            rtt_us: measured.rtt_us,
            jitter_us: measured.jitter_us,
            lost_per_million: measured.lost_per_million,
            queue_us: measured.queue_us,
            share_percent: percent.map(|it| u8::try_from(it).unwrap_or(100)),
            lost: path.repairs.map(|it| it.lost),
            repaired: path.repairs.map(|it| it.repaired),
            interface: path.interface.clone(),
            source,
            remote: path.remote,
            mtu: path.mtu,
            mtu_source: path.mtu_source,
            metered: path.metered,
            last_resort: path.last_resort,
            cap: path.cap,
            cap_resets_s: path.cap.map(|cap| cap::resets_s(&cap, now_ms)),
        }
    }
}
