//! All connections of one daemon.
//!
//! [`Node`](crate::Node) hands in packets, datagrams and the time, and changes of the configuration.
//! Others read: which connections and paths there are, in which state, and what they have counted.

mod config;
pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod filter;
mod id;
mod lookup;
mod receive;
pub(crate) mod registry;
mod send;
pub mod sequence;
pub(crate) mod sessions;
pub(crate) mod timers;

use std::collections::BTreeMap;
use std::time::Instant;

pub use config::advise;
pub use config::remote::Remote;
pub use config::{ConfigError, ConnectionConfig, Direction, PathConfig, Protect, Repair};
pub use connection::Connection;
pub use counters::drops::{DatagramDrop, InnerDrop};
pub use counters::{Accepted, DatagramDrops, InnerDrops, Remarks, Traffic};
pub use filter::Sources;
pub use id::{ConnectionId, DeviceId, PathId, SocketId, StoreId};
pub use lookup::{PortRange, Selector, SelectorTable, check};
pub(crate) use receive::accepted::{AcceptedDatagram, Received};
pub(crate) use receive::sink::ToDevice;
pub use receive::sink::{DeviceSink, Nowhere};
pub use send::packet::InnerPacket;
pub use send::transmit::Transmit;
pub use send::{Departure, Outgoing};

use self::registry::Registry;
use self::send::turns::Turns;
use crate::path::{Path, Paths, Transitions};
use crate::seal::Openers;
use crate::tunnel::lookup::Tables;
use crate::tunnel::timers::Timers;

/// All connections of one daemon, and the tables by which packets find them. `P` is the caller's
/// handle of a received packet, a few bytes.
///
/// Every packet handed in ends in exactly one counter: of the sent ([`Connection::sent`]), of the
/// dropped, or of the accepted ([`Connection::accepted`]). Drops are counted by the connection
/// where it is known, else here.
#[derive(Debug)]
pub struct Tunnels<P> {
    connections: Registry<ConnectionId, Connection<P>>,
    by_name: BTreeMap<String, ConnectionId>,
    paths: Paths,
    transitions: Transitions,
    tables: Tables,
    timers: Timers,
    /// The keys for sealed packets that come in.
    openers: Openers,
    flow_seed: u64,
    /// The answer to the last packet from a device.
    transmits: Vec<Transmit>,
    /// Connections in whose queues something may leave.
    departing: Turns,
    /// Bytes that may wait in the queue of one connection.
    queue_limit: usize,
    /// Quiet connections that have got a packet to send.
    woken: Vec<ConnectionId>,
    /// Connections on which something is missing after nothing was.
    found: Vec<ConnectionId>,
    /// Connections of which a path has fallen quiet.
    tails: Vec<ConnectionId>,
    /// Connections of which a symbol of forward error correction is due.
    symbols: Vec<ConnectionId>,
    /// Connections with packets that were restored.
    restored: Vec<ConnectionId>,
    inner_drops: InnerDrops,
    datagram_drops: DatagramDrops,
}

impl<P: Copy> Tunnels<P> {
    /// Tunnels without connections. `flow_seed` makes the mapping of flows to paths and source
    /// ports unpredictable from outside; the same seed gives the same mapping.
    pub(crate) fn new(flow_seed: u64) -> Self {
        Self {
            connections: Registry::default(),
            by_name: BTreeMap::new(),
            paths: Paths::default(),
            transitions: Transitions::default(),
            tables: Tables::default(),
            timers: Timers::default(),
            openers: Openers::default(),
            flow_seed,
            transmits: Vec::new(),
            departing: Turns::default(),
            queue_limit: usize::MAX,
            woken: Vec::new(),
            found: Vec::new(),
            tails: Vec::new(),
            symbols: Vec::new(),
            restored: Vec::new(),
            inner_drops: InnerDrops::default(),
            datagram_drops: DatagramDrops::default(),
        }
    }

    /// Returns when [`Self::handle_timeout`] is to be called at the latest. May be earlier than
    /// necessary.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.timers.earliest()
    }

    /// Does what was due at `now`: gives up gaps and delivers what waited behind them.
    pub(crate) fn handle_timeout<S: DeviceSink<P>>(&mut self, now: Instant, sink: &mut S) {
        while let Some(due) = self.timers.pop(now) {
            let Some((id, connection)) = self.connections.at_index(due as usize) else { continue };
            let device = connection.device();
            if let Some(reorder) = &mut connection.reorder {
                reorder.handle_timeout(now, &mut ToDevice { device, sink });
                let next = reorder.next_timeout();
                debug_assert!(next.is_none_or(|next| next > now), "nothing that is due is left");
            }
            if connection.take_end_mark(now) {
                self.tails.push(id);
            }
            if connection.symbol_due().is_some_and(|at| at <= now) {
                self.symbols.push(id);
            }
            if let Some(next) = connection.next_timeout() {
                if next > now {
                    self.timers.set_no_later(due, next);
                } else {
                    // Packets wait in the connection's queue. The caller asks for the connection.
                    self.departing.insert(id);
                }
            }
        }
    }

    /// Returns the inner MTU of a device in bytes: the smallest over those of its connections that
    /// [limit it](crate::ConnectionConfig::limits_device); the largest possible without any.
    pub fn inner_mtu(&self, device: DeviceId) -> u16 {
        let connections = self
            .connections()
            .filter(|(_, other)| other.device() == device && other.config().limits_device);
        connections.map(|(_, connection)| connection.inner_mtu()).min().unwrap_or(u16::MAX)
    }

    /// A connection.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection<P>> {
        self.connections.get(id)
    }

    /// All connections.
    pub fn connections(&self) -> impl Iterator<Item = (ConnectionId, &Connection<P>)> {
        self.connections.iter()
    }

    /// A path.
    #[inline]
    pub fn path(&self, id: PathId) -> Option<&Path> {
        self.paths.get(id)
    }

    /// All paths of all connections.
    pub fn paths(&self) -> impl Iterator<Item = (PathId, &Path)> {
        self.paths.iter()
    }

    /// Packets from devices that were dropped before their connection was known.
    pub fn inner_drops(&self) -> &InnerDrops {
        &self.inner_drops
    }

    /// Datagrams that were dropped before their connection was known.
    pub fn datagram_drops(&self) -> &DatagramDrops {
        &self.datagram_drops
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut Connection<P>> {
        self.connections.get_mut(id)
    }
}
