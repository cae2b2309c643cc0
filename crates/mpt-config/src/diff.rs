//! What a reload has to change: the shortest list of steps from one checked configuration to another, so that nothing the
//! change does not concern is touched.
//!
//! Things are known by their names: a device, a connection, a path within its connection. The difference is taken between
//! the two files, so what was changed by hand since (`mpt path set`) stays unless the file changes that very key.

use std::fmt;

use super::peers::{Client, Controller, Pool};
use super::types::{Config, Connection, Daemon, Device, Path};

/// The steps from one configuration to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// To be made in this order: whatever goes frees its names, addresses and tuples before anything comes.
    pub changes: Vec<Change>,
    /// Keys that changed but take effect only when the daemon is started again.
    pub restart: Vec<&'static str>,
}

/// One step. Whatever holds an old thing finds it by its name; new things are given complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A path goes. When `replaced`, an [`Change::AddPath`] of the same names follows.
    RemovePath {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
        /// Whether it comes back with other addresses or ports; its random source port should be kept for it.
        replaced: bool,
    },
    /// A connection goes with its paths. When `replaced`, an [`Change::AddConnection`] of the same name follows.
    RemoveConnection {
        /// Its name.
        connection: String,
        /// Whether it comes back with another device or key; the random source ports of its paths should be kept.
        replaced: bool,
    },
    /// A device goes; its connections went before.
    RemoveDevice {
        /// Its name.
        device: String,
    },
    /// The daemon's own values that can change in flight.
    UpdateDaemon {
        /// As it is to be.
        daemon: Box<Daemon>,
        /// The keys that differ.
        changed: Vec<&'static str>,
    },
    /// A client, pool or controller comes, goes or gets other values. Connections of clients that may go on do.
    Policy {
        /// "client", "pool" or "controller".
        kind: &'static str,
        /// Its name.
        name: String,
        /// What becomes of it.
        step: Step,
    },
    /// A device gets other addresses or another MTU.
    UpdateDevice(Device),
    /// A device comes.
    AddDevice(Device),
    /// A connection gets other values, all of which can change in flight: everything but its name, device and key. Its
    /// paths have steps of their own; sequence numbers go on.
    UpdateConnection {
        /// As it is to be.
        connection: Box<Connection>,
        /// The keys that differ.
        changed: Vec<&'static str>,
    },
    /// A connection comes with its paths.
    AddConnection(Box<Connection>),
    /// A path gets other values that can change in flight: weights, tier, MTU, administrative state.
    UpdatePath {
        /// Name of its connection.
        connection: String,
        /// As it is to be.
        path: Box<Path>,
        /// The keys that differ.
        changed: Vec<&'static str>,
    },
    /// A path comes.
    AddPath {
        /// Name of its connection.
        connection: String,
        /// As it is to be.
        path: Box<Path>,
    },
}

/// What becomes of a client, pool or controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It comes.
    Added,
    /// It goes.
    Removed,
    /// These keys of it change.
    Changed(Vec<&'static str>),
}

/// The steps from `old` to `new`. Empty when they are equal.
pub fn diff(old: &Config, new: &Config) -> Plan {
    let mut plan = Plan::default();
    daemon(&old.daemon, &new.daemon, &mut plan);
    policy("pool", &old.pools, &new.pools, &mut plan);
    policy("client", &old.clients, &new.clients, &mut plan);
    policy("controller", &old.controllers, &new.controllers, &mut plan);
    // Gathered apart, since removals of any kind come before additions of any kind.
    let mut gone = Vec::new();
    let mut changed = Vec::new();
    let mut come = Vec::new();
    for before in &old.connections {
        let name = || before.name.clone();
        match new.connection(&before.name) {
            Some(after) if same_identity(before, after) => {
                connection(before, after, &mut gone, &mut changed, &mut come);
            }
            other => {
                gone.push(Change::RemoveConnection {
                    connection: name(),
                    replaced: other.is_some(),
                });
            }
        }
    }
    for before in old.devices.iter().filter(|device| new.device(&device.name).is_none()) {
        gone.push(Change::RemoveDevice { device: before.name.clone() });
    }
    let mut devices = Vec::new();
    for after in &new.devices {
        match old.device(&after.name) {
            Some(before) if before == after => {}
            Some(_) => devices.push(Change::UpdateDevice(after.clone())),
            None => devices.push(Change::AddDevice(after.clone())),
        }
    }
    for after in &new.connections {
        if old.connection(&after.name).is_none_or(|before| !same_identity(before, after)) {
            come.push(Change::AddConnection(Box::new(after.clone())));
        }
    }
    plan.changes.extend(gone.into_iter().chain(devices).chain(changed).chain(come));
    plan
}

fn daemon(old: &Daemon, new: &Daemon, plan: &mut Plan) {
    if old.user != new.user {
        plan.restart.push("daemon.user");
    }
    if old.control_socket != new.control_socket {
        plan.restart.push("daemon.control_socket");
    }
    if old.buffer_limit != new.buffer_limit {
        plan.restart.push("daemon.buffer_limit");
    }
    if old.listen != new.listen {
        plan.restart.push("daemon.listen");
    }
    if old.mark != new.mark {
        plan.restart.push("daemon.mark");
    }
    let changed = differing(&[
        ("log", old.log != new.log),
        ("log_format", old.log_format != new.log_format),
        // What is in the file counts, not its name.
        ("private_key_file", old.private_key != new.private_key),
        ("max_clients", old.max_clients != new.max_clients),
        ("creations_per_second", old.creations_per_second != new.creations_per_second),
    ]);
    if !changed.is_empty() {
        plan.changes.push(Change::UpdateDaemon { daemon: Box::new(new.clone()), changed });
    }
}

/// Clients, pools and controllers.
trait Policy {
    fn name(&self) -> &str;
    fn changes(&self, new: &Self) -> Vec<&'static str>;
}

impl Policy for Client {
    fn name(&self) -> &str {
        &self.name
    }

    fn changes(&self, new: &Self) -> Vec<&'static str> {
        differing(&[
            ("public_key", self.public_key != new.public_key),
            ("psk_file", self.psk != new.psk),
            ("device", self.device != new.device),
            ("addresses", self.addresses != new.addresses),
            ("networks", self.networks != new.networks),
            ("max_connections", self.max_connections != new.max_connections),
            ("max_paths", self.max_paths != new.max_paths),
            ("max_weight", self.max_weight != new.max_weight),
            ("mappings", self.mappings != new.mappings),
            ("silent", self.silent != new.silent),
            ("keepalive", self.timing.keepalive != new.timing.keepalive),
            ("idle_keepalive", self.timing.idle_keepalive != new.timing.idle_keepalive),
            ("dead", self.timing.dead != new.timing.dead),
            ("window", self.reorder.window != new.reorder.window),
            ("max_delay", self.reorder.max_delay != new.reorder.max_delay),
            ("early_release", self.reorder.early_release != new.reorder.early_release),
            ("late", self.reorder.late != new.reorder.late),
            ("equalize", self.reorder.equalize != new.reorder.equalize),
        ])
    }
}

impl Policy for Pool {
    fn name(&self) -> &str {
        &self.name
    }

    fn changes(&self, new: &Self) -> Vec<&'static str> {
        differing(&[("networks", self.networks != new.networks)])
    }
}

impl Policy for Controller {
    fn name(&self) -> &str {
        &self.name
    }

    fn changes(&self, new: &Self) -> Vec<&'static str> {
        differing(&[
            ("public_key", self.public_key != new.public_key),
            ("psk_file", self.psk != new.psk),
            ("allow", self.allow != new.allow),
        ])
    }
}

fn policy<T: Policy>(kind: &'static str, old: &[T], new: &[T], plan: &mut Plan) {
    let find = |all: &[T], name: &str| all.iter().position(|it| it.name() == name);
    let mut push = |it: &T, step: Step| {
        plan.changes.push(Change::Policy { kind, name: it.name().to_owned(), step });
    };
    for gone in old.iter().filter(|it| find(new, it.name()).is_none()) {
        push(gone, Step::Removed);
    }
    for after in new {
        match find(old, after.name()).map(|index| old[index].changes(after)) {
            None => push(after, Step::Added),
            Some(changed) if changed.is_empty() => {}
            Some(changed) => push(after, Step::Changed(changed)),
        }
    }
}

/// Whether the connection can go on as the one it was: it stays on its device, its peer still knows it by its key, and is
/// the same as before.
fn same_identity(old: &Connection, new: &Connection) -> bool {
    let peer = |connection: &Connection| {
        connection.peer.as_ref().map(|peer| (peer.public_key, peer.create))
    };
    old.device == new.device
        && old.key == new.key
        && peer(old) == peer(new)
        && old.compat.is_some() == new.compat.is_some()
}

fn connection(
    old: &Connection,
    new: &Connection,
    gone: &mut Vec<Change>,
    changed: &mut Vec<Change>,
    come: &mut Vec<Change>,
) {
    // Either both have one or neither: else it is not the same connection.
    let peers = old.peer.as_ref().zip(new.peer.as_ref());
    let keys = differing(&[
        ("networks", old.networks != new.networks),
        ("select", old.selectors != new.selectors),
        ("sequence", old.sequence != new.sequence),
        ("checksum", old.checksum != new.checksum),
        ("udp_checksum", old.udp_checksum != new.udp_checksum),
        ("direction", old.direction != new.direction),
        ("mapping", old.mapping != new.mapping),
        ("window", old.reorder.window != new.reorder.window),
        ("max_delay", old.reorder.max_delay != new.reorder.max_delay),
        ("early_release", old.reorder.early_release != new.reorder.early_release),
        ("late", old.reorder.late != new.reorder.late),
        ("equalize", old.reorder.equalize != new.reorder.equalize),
        ("multicast", old.multicast != new.multicast),
        ("copy_dscp", old.copy_dscp != new.copy_dscp),
        ("ecn", old.ecn != new.ecn),
        ("routes", old.routes != new.routes),
        ("fallback", old.fallback != new.fallback),
        ("mptsrv", old.compat != new.compat),
        ("peer.psk_file", peers.is_some_and(|(old, new)| old.psk != new.psk)),
        ("peer.initiate", peers.is_some_and(|(old, new)| old.initiate != new.initiate)),
        (
            "peer.keepalive",
            peers.is_some_and(|(old, new)| old.timing.keepalive != new.timing.keepalive),
        ),
        (
            "peer.idle_keepalive",
            peers.is_some_and(|(old, new)| old.timing.idle_keepalive != new.timing.idle_keepalive),
        ),
        ("peer.dead", peers.is_some_and(|(old, new)| old.timing.dead != new.timing.dead)),
        (
            "peer.follow_weights",
            peers.is_some_and(|(old, new)| old.follow_weights != new.follow_weights),
        ),
    ]);
    if !keys.is_empty() {
        changed.push(Change::UpdateConnection { connection: Box::new(new.clone()), changed: keys });
    }
    let name = || new.name.clone();
    for before in &old.paths {
        let after = new.path(&before.name);
        if after.is_none_or(|after| !same_sockets(before, after)) {
            gone.push(Change::RemovePath {
                connection: name(),
                path: before.name.clone(),
                replaced: after.is_some(),
            });
        }
    }
    for after in &new.paths {
        let path = || Box::new(after.clone());
        match old.path(&after.name) {
            Some(before) if same_sockets(before, after) => {
                let keys = differing(&[
                    ("weight", before.weight != after.weight),
                    ("weight_in", before.weight_in != after.weight_in),
                    ("tier", before.tier != after.tier),
                    ("mtu", before.mtu != after.mtu),
                    ("up", before.up != after.up),
                    ("rate", before.rate != after.rate),
                ]);
                if !keys.is_empty() {
                    changed.push(Change::UpdatePath {
                        connection: name(),
                        path: path(),
                        changed: keys,
                    });
                }
            }
            _ => come.push(Change::AddPath { connection: name(), path: path() }),
        }
    }
}

/// Whether the path can go on with the sockets it has.
fn same_sockets(old: &Path, new: &Path) -> bool {
    // Where a name leads, or a session has found the other end, is no matter of the file.
    let found = new.learn || new.remote_name.is_some();
    old.local == new.local
        && old.interface == new.interface
        && (old.remote == new.remote || found)
        && old.remote_name == new.remote_name
        && old.learn == new.learn
        && old.local_port == new.local_port
        && old.source_port == new.source_port
        && old.remote_port == new.remote_port
        && old.remote_source_port == new.remote_source_port
        && old.nat == new.nat
        && old.public == new.public
}

fn differing(keys: &[(&'static str, bool)]) -> Vec<&'static str> {
    keys.iter().filter(|(_, differs)| *differs).map(|&(key, _)| key).collect()
}

impl Change {
    /// Returns the names of the connection and the path that it is about.
    pub fn place(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Change::RemovePath { connection, path, .. } => (Some(connection), Some(path)),
            Change::UpdatePath { connection, path, .. } | Change::AddPath { connection, path } => {
                (Some(connection), Some(&path.name))
            }
            Change::RemoveConnection { connection, .. } => (Some(connection), None),
            Change::UpdateConnection { connection, .. } | Change::AddConnection(connection) => {
                (Some(&connection.name), None)
            }
            Change::RemoveDevice { .. }
            | Change::UpdateDaemon { .. }
            | Change::Policy { .. }
            | Change::UpdateDevice(_)
            | Change::AddDevice(_) => (None, None),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::RemovePath { connection, path, replaced: true } => {
                write!(f, "connection {connection}: path {path} taken down to be replaced")
            }
            Change::RemovePath { connection, path, replaced: false } => {
                write!(f, "connection {connection}: path {path} removed")
            }
            Change::RemoveConnection { connection, replaced: true } => {
                write!(f, "connection {connection} taken down to be replaced")
            }
            Change::RemoveConnection { connection, replaced: false } => {
                write!(f, "connection {connection} removed")
            }
            Change::RemoveDevice { device } => write!(f, "device {device} removed"),
            Change::UpdateDaemon { changed, .. } => {
                write!(f, "daemon: {} changed", changed.join(", "))
            }
            Change::Policy { kind, name, step: Step::Added } => write!(f, "{kind} {name} added"),
            Change::Policy { kind, name, step: Step::Removed } => {
                write!(f, "{kind} {name} removed")
            }
            Change::Policy { kind, name, step: Step::Changed(changed) } => {
                write!(f, "{kind} {name}: {} changed", changed.join(", "))
            }
            Change::UpdateDevice(device) => write!(f, "device {} changed", device.name),
            Change::AddDevice(device) => write!(f, "device {} added", device.name),
            Change::UpdateConnection { connection, changed } => {
                write!(f, "connection {}: {} changed", connection.name, changed.join(", "))
            }
            Change::AddConnection(connection) => write!(f, "connection {} added", connection.name),
            Change::UpdatePath { connection, path, changed } => {
                write!(
                    f,
                    "connection {connection}: path {}: {} changed",
                    path.name,
                    changed.join(", ")
                )
            }
            Change::AddPath { connection, path } => {
                write!(f, "connection {connection}: path {} added", path.name)
            }
        }
    }
}
